"""Each layer imports only what lies below it."""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import run


def test_the_contracts_in_pyproject_are_kept() -> None:
    script = Path(sys.executable).with_name("lint-imports")
    process = run([str(script), "--no-cache"], Path(__file__).parents[1])
    assert process.returncode == 0, process.stdout + process.stderr
