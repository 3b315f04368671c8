"""A fingerprint stays when other lines change, and tells findings apart."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from conftest import DATA, TRAIN

from ddplint.analysis import Analysis
from ddplint.rules import BY_SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ddplint.findings import Fingerprint

SAVING = '    torch.save(model.state_dict(), "model.pt")\n'


def fingerprints(path: Path, source: str) -> list[Fingerprint]:
    """Those of what is found in ``source``, written to ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "data.py").write_text(DATA)
    path.write_text(source, encoding="utf-8")
    findings = Analysis().findings(os.fspath(path), list(BY_SYMBOL))
    marks = [finding.fingerprint for finding in findings]
    assert None not in marks
    return [mark for mark in marks if mark is not None]


def test_it_says_what_and_where(project: Path) -> None:
    loader, save = fingerprints(project / "train.py", TRAIN)
    assert (save.rule, save.path, save.scope, save.number) == ("ddp-unguarded-save", "train.py", "main", 1)
    assert save.text == 'torch.save(model.state_dict(),"model.pt")'
    assert loader.text == "loader=DataLoader(build_dataset(),batch_size=32,shuffle=True)"
    # What stands in reports that were uploaded must not change by itself.
    assert save.digest == "c2d5fe63513363f53241a55989f57a49"


EDITS: dict[str, Callable[[str], str]] = {
    "lines above": lambda text: "# Copyright\n\n" + text.replace("import os\n", "import os\nimport sys\n"),
    "lines below": lambda text: text.replace("    dist.destroy", "    print('saved')\n    dist.destroy"),
    "a comment": lambda text: text.replace(SAVING, SAVING.replace("\n", "  # kept\n")),
    "the layout": lambda text: text.replace(
        SAVING, '    torch.save(\n        model.state_dict(),  # "a"\n        "model.pt",\n    )\n'
    ),
    "a test around it": lambda text: text.replace(SAVING, f"    if device >= 0:\n    {SAVING}"),
    "a statement before it on its line": lambda text: text.replace(SAVING, f'    note = "größer"; {SAVING.lstrip()}'),
    "the wrap": lambda text: text.replace("device_ids=[device]", "device_ids=[device], bucket_cap_mb=50"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_it_stays_when_other_things_change(project: Path, edit: Callable[[str], str]) -> None:
    changed = edit(TRAIN)
    assert changed != TRAIN
    assert fingerprints(project / "train.py", changed) == fingerprints(project / "train.py", TRAIN)


@pytest.mark.parametrize(("old", "new"), [('"model.pt"', '"last.pt"'), ("main()", "run()")])
def test_it_changes_with_the_statement_and_the_function(project: Path, old: str, new: str) -> None:
    save = fingerprints(project / "train.py", TRAIN)[-1]
    changed = fingerprints(project / "train.py", TRAIN.replace(old, new))[-1]
    assert changed != save
    assert changed.digest != save.digest


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "shift_jis"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_it_does_not_depend_on_how_the_text_is_stored(project: Path, encoding: str, line_end: str) -> None:
    words = "気温" if encoding == "shift_jis" else "Größe"
    saving = (
        f'    note = "{words}"; torch.save(\n        model.state_dict(),  # {words}\n        "{words}.pt",\n    )\n'
    )
    source = f"# coding: {encoding.removesuffix('-sig')}\n{TRAIN.replace(SAVING, saving)}"
    path = project / "train.py"
    path.write_bytes(source.replace("\n", line_end).encode(encoding))
    finding = Analysis().findings(os.fspath(path), ["ddp-unguarded-save"])[0]
    assert finding.fingerprint is not None
    assert finding.fingerprint.text == f'torch.save(model.state_dict(),"{words}.pt")'
    assert finding.span.column == len(f'    note = "{words}"; ')


def test_equal_statements_are_numbered(project: Path) -> None:
    marks = fingerprints(project / "train.py", TRAIN.replace(SAVING, SAVING * 3))
    assert [mark.number for mark in marks if mark.rule == "ddp-unguarded-save"] == [1, 2, 3]
    assert len({mark.digest for mark in marks}) == len(marks) == 4


def test_it_does_not_depend_on_where_the_project_lies(project: Path, tmp_path: Path) -> None:
    here = fingerprints(project / "sub" / "train.py", TRAIN)
    other = tmp_path / "elsewhere"
    (other / ".git").mkdir(parents=True)
    assert fingerprints(other / "sub" / "train.py", TRAIN) == here
    assert {mark.path for mark in here} == {"sub/train.py"}


def test_classes_and_functions_around_it_are_named(project: Path) -> None:
    lines = TRAIN.partition("def main():\n")[2].partition("\n\nif __name__")[0].splitlines(keepends=True)
    method = "class Run:\n    def all(self):\n" + "".join(f"    {line}" for line in lines)
    source = TRAIN.partition("def main():\n")[0] + method + "\n\nRun().all()\n"
    assert {mark.scope for mark in fingerprints(project / "train.py", source)} == {"Run.all"}


def test_of_a_block_the_head_counts(project: Path) -> None:
    saving = '    with open("model.pt", "wb") as file:  # the last\n        torch.save(model.state_dict(), file)\n'
    marks = fingerprints(project / "train.py", TRAIN.replace(SAVING, saving))
    assert marks[-1].text == 'with open("model.pt","wb")as file:'
