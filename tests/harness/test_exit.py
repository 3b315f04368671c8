"""What goes wrong in torch after a program's last line does not make the program a failure."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from conftest import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

LAUNCH = """
import sys
from pathlib import Path
from ddplint.harness import launch

launch._EXIT = 3.0  # as long as it is, it is waited for
ended = launch.run(launch.Program(sys.argv[1], timeout=60), Path(sys.argv[2]))
print(ended.error, "|", ended.exit_trouble, "|", ended.seconds < 30)
"""

# An object that a module still holds is deleted after the last exit handler, as torch's reducer is.
AT_EXIT = """
import os, signal, time

class Last:
    def __del__(self, rank=os.environ["RANK"], kill=os.kill, pid=os.getpid(), abort=signal.SIGABRT, sleep=time.sleep):
        if rank == "1":
            {}

last = Last()
"""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (AT_EXIT.format("kill(pid, abort)"), "None | rank 1 was ended by SIGABRT | True"),
        (AT_EXIT.format("sleep(600)"), "None | the script did not exit | True"),
        ("import os\nif os.environ['RANK'] == '1':\n    os.abort()\n", "rank 1 was ended by SIGABRT | None | True"),
    ],
    ids=["abort at exit", "hang at exit", "abort in the program"],
)
def test_trouble_at_exit_is_told_apart(tmp_path: Path, script: str, said: str) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    process = run([sys.executable, "-c", LAUNCH, str(tmp_path / "train.py"), str(notes)], tmp_path)
    assert process.stdout.strip() == said, process.stderr
