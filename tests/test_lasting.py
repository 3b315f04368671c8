"""An analysis that lasts while files change gives what a new one gives."""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING

import pytest
from conftest import DATA, PLAIN, SAMPLER, SAVE, TRAIN

from ddplint.analysis import Analysis
from ddplint.project.project import Project
from ddplint.project.texts import KeptTexts
from ddplint.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STATE = "ddp-wrapper-state-dict"
SYMBOLS = [rule.symbol for rule in RULES]
ENGINE = TRAIN.partition("def main")[0]
LIBRARY = "from engine import train\n" + TRAIN.partition("def train")[0] + TRAIN[TRAIN.index("def main") :]
SHARDED = DATA.replace("torch.randn(256, 8)", "torch.randn(256, 8)[torch.distributed.get_rank()::2]")
TEXTS = [
    TRAIN,
    LIBRARY,
    ENGINE,
    DATA,
    SHARDED,
    PLAIN,
    "",
    "import engine\nfrom lib.data import build_dataset\n",
    TRAIN.replace("from data", "from lib.data"),
    TRAIN.replace("torch.save(", "keep(").replace("import os\n", "import os\nfrom lib import keep\n"),
    "import torch\n\n\ndef keep(state, path):\n    torch.save(state, path)\n",
    "def broken(:\n",
    "from data import build_dataset\n\n\ndef keep(state, path):\n    pass\n",
]
NAMES = ["train.py", "data.py", "engine.py", "lib/__init__.py", "lib/data.py", "lib/train.py", "src/data.py"]


class Editing:
    """Files in a folder and texts on a screen, changed at random."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.unsaved: dict[str, bytes] = {}
        self.steps: list[str] = []

    def step(self) -> None:
        choices: list[Callable[[Path], str]] = [self.write, self.write, self.type, self.type, self.close, self.delete]
        name = self.random.choice(NAMES)
        act = self.random.choice([*choices, self.rename, self.same_size])
        self.steps.append(f"{act.__name__} {name} {act(self.root / name)}")

    def text(self) -> int:
        """The number of a text, those of which a program is made more often."""
        return min(self.random.randrange(len(TEXTS)), self.random.randrange(len(TEXTS)))

    def write(self, path: Path) -> str:
        number = self.text()
        path.parent.mkdir(exist_ok=True)
        path.write_text(TEXTS[number])
        return str(number)

    def type(self, path: Path) -> str:
        number = self.text()
        self.unsaved[str(path)] = TEXTS[number].encode()
        return str(number)

    def close(self, path: Path) -> str:
        return str(self.unsaved.pop(str(path), None) is not None)

    def delete(self, path: Path) -> str:
        path.unlink(missing_ok=True)
        if self.random.random() < 0.2:
            shutil.rmtree(self.root / "lib", ignore_errors=True)
        return ""

    def rename(self, path: Path) -> str:
        other = self.root / self.random.choice(NAMES)
        if path.exists():
            other.parent.mkdir(exist_ok=True)
            path.replace(other)
        return str(other)

    def same_size(self, path: Path) -> str:
        """Change a word for one as long, as fast as can be, and set the clock of the file back."""
        if path.exists():
            times = path.stat()
            path.write_text(
                path.read_text().replace("DataLoader(", "DataLoaded(").replace("torch.save(", "torch.sale(")
            )
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return ""


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    root = tmp_path / "edited"
    (root / ".git").mkdir(parents=True)
    for name, text in {"train.py": TRAIN, "data.py": DATA, "engine.py": ENGINE}.items():
        (root / name).write_text(text)
    return root


def answers(analysis: Analysis, root: Path) -> Iterator[object]:
    for name in NAMES:
        yield name, analysis.findings(str(root / name), SYMBOLS)


@pytest.mark.parametrize("seed", range(10))
def test_it_gives_what_a_new_one_gives(edited: Path, seed: int) -> None:
    editing = Editing(edited, seed)
    lasting = Analysis(lasts=True)
    seen = []
    for _ in range(25):
        editing.step()
        lasting.renew(editing.unsaved)
        new = list(answers(Analysis(editing.unsaved), edited))
        assert list(answers(lasting, edited)) == new, "\n".join(editing.steps)
        seen.append(str(new))
    assert len(set(seen)) > 2


def test_what_did_not_change_is_neither_read_nor_parsed_again(edited: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("train.py", "data.py", "engine.py"):
        os.utime(edited / name, ns=(0, 0))
    monkeypatch.setattr("ddplint.project.texts._UNSETTLED", -1)  # as if the files were old
    read: list[str] = []
    parsed: list[str] = []
    look, parse = KeptTexts._look, Project._parse
    monkeypatch.setattr(KeptTexts, "_look", lambda self, path: (read.append(path), look(self, path))[1])
    monkeypatch.setattr(Project, "_parse", lambda self, path: (parsed.append(path), parse(self, path))[1])
    train = str(edited / "train.py")
    lasting = Analysis(lasts=True)
    assert lasting.findings(train, SYMBOLS)
    assert {str(edited / name) for name in ("train.py", "data.py", "engine.py")} == set(read)
    assert str(edited / "data.py") in parsed
    for text, again in ((TRAIN + "\n", [train]), (TRAIN + "\n", []), (TRAIN + "\n\n", [train])):
        read.clear()
        parsed.clear()
        lasting.renew({train: text.encode()})
        assert lasting.findings(train, SYMBOLS)
        assert set(read) <= {train}
        assert parsed == again


def test_a_second_project_does_not_mix_with_the_first(edited: Path) -> None:
    other = edited.with_name("other")
    shutil.copytree(edited, other)
    (other / "data.py").write_text(SHARDED)
    lasting = Analysis(lasts=True)
    for unsaved in ({}, {str(edited / "data.py"): SHARDED.encode()}, {}):
        lasting.renew(unsaved)
        for root in (edited, other):
            found = {finding.symbol for finding in lasting.findings(str(root / "train.py"), SYMBOLS)}
            assert (SAMPLER in found) == (root == edited and not unsaved)


def test_texts_too_many_to_be_kept_are_read_when_asked_for(edited: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddplint.project.texts._MOST_KEPT", len(TRAIN))
    texts = KeptTexts()
    train, data = str(edited / "train.py"), str(edited / "data.py")
    for _ in range(2):
        assert (texts.get(train), texts.get(data)) == (TRAIN.encode(), DATA.encode())
        assert texts.renew({}) == set()
    (edited / "data.py").write_text(SHARDED)
    assert texts.renew({}) == {data}
    assert texts.get(data) == SHARDED.encode()


KEEPER = "import torch\n\n\ndef keep(state, path):\n    torch.save(state, path)\n"
KEEPING = TRAIN.replace("torch.save(", "keep(").replace("from data", "from store import keep\nfrom data")
PREFIXED = TRAIN.replace("torch.save(model.", "torch.save(wrapped.")
RESUMED = PREFIXED.replace("torch.save(wrapped.state_dict(), ", "wrapped.load_state_dict(torch.load(")[:-1].replace(
    '"model.pt")', '"model.pt"))'
)


@pytest.mark.parametrize(
    ("file", "text", "other", "before", "after", "symbol"),
    [
        ("store.py", KEEPER, "train.py", TRAIN, KEEPING, SAVE),
        ("train.py", PREFIXED, "resume.py", RESUMED, PLAIN, STATE),
    ],
    ids=["an import", "a reader"],
)
def test_what_another_file_does_counts_at_once(
    edited: Path, file: str, text: str, other: str, before: str, after: str, symbol: str
) -> None:
    (edited / file).write_text(text)
    lasting = Analysis(lasts=True)
    for now in (before, after, before, after):
        (edited / other).write_text(now)
        lasting.renew({})
        found = {finding.symbol for finding in lasting.findings(str(edited / file), SYMBOLS)}
        assert (symbol in found) == (now == after), now
