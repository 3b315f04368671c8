"""Where a finding stands to the character, how sure it is, and which other places its text names."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import SAVE, TRAIN, ddplint, messages

from ddplint.analysis import Analysis
from ddplint.command import main
from ddplint.rules import RULES

CASES = Path(__file__).parents[1] / "testdata" / "cases"
SAMPLER, EPOCH, STATE, WRITE, MOVE, SYNC, *_ = (rule.symbol for rule in RULES)
DRIFT, PAST = "ddp-unsynchronized-step", "ddp-bypassed-wrapper"
MEET = "ddp-rank-guarded-collective"
SPLIT, RACE = "ddp-rank-dependent-split", "ddp-load-before-barrier"
EXIT = "ddp-rank-local-exit"
LOSS, PLACED = "ddp-collective-in-loss", "ddp-load-without-map-location"


class Place(NamedTuple):
    """The first line of ``file`` that holds ``text``."""

    text: str
    file: str = ""

    def line(self, case: Path, file: str) -> int:
        lines = (case / (self.file or file)).read_text(encoding="utf-8-sig").splitlines()
        return next(number for number, line in enumerate(lines, 1) if self.text in line)


class Row(NamedTuple):
    """What is underlined in the line with the expected message, and what the message says."""

    case: str
    file: str
    symbol: str
    underlined: str
    confidence: str
    says: str
    """Each ``{}`` is one of ``places``: ``line 12`` in the same file, ``file.py:12`` in another."""
    places: tuple[Place, ...]


WRAP = Place("DistributedDataParallel(")
ROWS = [
    Row("sampler-bad-flagged-ddp", "train.py", SAMPLER, "DataLoader", "HIGH",
        "has no sampler, and its batches train the DistributedDataParallel model wrapped at {} (backward at {})",
        (WRAP, Place(".backward()"))),
    Row("sampler-bad-stream-from-helper", "captions.py", SAMPLER, "DataLoader", "INFERENCE",
        "wrapped at {} (backward at {})", (Place("DDP(", "train.py"), Place(".backward()", "train.py"))),
    Row("sampler-bad-balanced-draws", "claims.py", SAMPLER, "tud.DataLoader", "INFERENCE",
        "has WeightedRandomSampler, which knows no rank, and its batches train the DistributedDataParallel model "
        "wrapped at {}", (Place("DDP(", "train.py"),)),
    Row("sampler-bad-own-sampler", "train.py", SAMPLER, "torch.utils.data.DataLoader", "INFERENCE",
        "(backward at {})", (Place(".backward()"),)),
    Row("epoch-bad-list-of-batches", "train.py", EPOCH, "DistributedSampler", "HIGH",
        "list at {} keeps the first pass over the loader and replays it", (Place("list(DataLoader("),)),
    Row("epoch-bad-spawn-optional-sampler", "train.py", EPOCH, "DistributedSampler", "INFERENCE",
        "the passes over its loader at {} are repeated", (Place("in loader:"),)),
    Row("epoch-bad-sampler-in-loop", "train.py", EPOCH, "WholeBatches", "INFERENCE",
        "built anew in each epoch of the loop around {}", (Place("in self.loader:"),)),
    Row("wrapper-bad-flagged-wrap", "practise.py", STATE, "model.state_dict", "HIGH",
        "the state_dict() of the wrapper (DistributedDataParallel, made at {}) is written at {}",
        (WRAP, Place("torch.save("))),
    Row("wrapper-bad-saver-in-other-file", "storing/files.py", STATE, "model.state_dict", "INFERENCE",
        "made at {}) is written at {}", (Place("Replicated(model)", "train_tide.py"), Place("torch.save("))),
    Row("wrapper-bad-whole-object", "train.py", STATE, "torch.save", "HIGH",
        "the wrapper itself (DistributedDataParallel, made at {})", (WRAP,)),
    Row("save-bad-else-of-rank-test", "train.py", WRITE, "torch.save", "CONTROL_FLOW",
        "This file is written (torch.save) by every rank at once: the model is wrapped at {}", (Place("DDP("),)),
    Row("save-bad-best-beside-periodic", "train.py", WRITE, "write_snapshot", "INFERENCE",
        "(written at {})", (Place("torch.save(", "snapshots.py"),)),
    Row("save-bad-truncating-mode", "train.py", WRITE, "open", "CONTROL_FLOW",
        "This file is opened for writing by every rank at once: the model is wrapped at {}", (WRAP,)),
    Row("device-bad-factory-and-move", "train.py", MOVE, "DDP", "HIGH",
        "moved to another device after the wrap, at {}", (Place(".to(device)"),)),
    Row("device-bad-double-and-wrap", "fit_potential.py", MOVE, "DistributedDataParallel", "HIGH",
        "cast to another dtype after the wrap, at {}", (Place("model.to(dtype)"),)),
    Row("names-bad-import-inside-function", "fitter.py", MOVE, "Replica", "INFERENCE",
        "cast to another dtype after the wrap, at {}", (Place(".double()"),)),
    Row("accum-bad-inner-loop-of-chunks", "train.py", SYNC, "(loss / PARTS).backward", "CONTROL_FLOW",
        "the optimizer steps at {}, the model is wrapped at {}", (Place("optimizer.step()"), WRAP)),
    Row("accum-bad-modulo-in-engine", "engine.py", SYNC, "(loss / accumulate).backward", "INFERENCE",
        "the optimizer steps at {}, the model is wrapped at {}",
        (Place("optimizer.step()"), Place("DistributedDataParallel(", "train.py"))),
    Row("accum-bad-nosync-misses-forward", "fitter.py", SYNC, "self.model.no_sync", "INFERENCE",
        "misses the wrapper's forward at {}, and the forward decides", (Place("self.model("),)),
    Row("drift-bad-page-example", "train.py", DRIFT, "model.no_sync", "CONTROL_FLOW",
        "The optimizer steps at {} on gradients that were not averaged over the ranks (backward at {}, model wrapped "
        "at {})", (Place("optimizer.step()"), Place("loss.backward()"), WRAP)),
    Row("drift-bad-nosync-test-offset", "speech/loop.py", DRIFT, "self.model.no_sync", "INFERENCE",
        "The optimizer steps at {} on gradients that were not averaged over the ranks (backward at {}, model wrapped "
        "at {})", (Place("optimizer.step()"), Place(".backward()"), Place("DistributedDataParallel(", "main.py"))),
    Row("drift-bad-second-backward", "train.py", DRIFT, "size.backward", "HIGH",
        "The backward at {} used up the averaging that the forward at {} prepared",
        (Place("miss.backward("), Place("guess = model(x)"))),
    Row("bypass-bad-page-example", "train.py", PAST, "model.module", "HIGH",
        "The loss comes from model.module, past the wrapper", ()),
    Row("bypass-bad-unwrap-helper", "soil/loop.py", PAST, "net", "INFERENCE",
        "the backward at {} averages none, each rank steps on its own at {} (model wrapped at {})",
        (Place("loss.backward()"), Place("opt.step()"), Place("return DDP(model)", "soil/parallel.py"))),
    Row("split-bad-seeded-again-too-early", "train.py", SPLIT, "random_split", "HIGH",
        "draws from torch's global generator that is seeded by rank at {}, and what it gives is then shared out by the "
        "sampler at {}", (Place("dist.get_rank()"), Place("sampler = "))),
    Row("split-bad-list-shuffled-in-helper", "letters.py", SPLIT, "random.shuffle", "INFERENCE",
        "draws from Python's global generator that nothing seeds, and what it gives is then shared out by the sampler "
        "at {}", (Place("DistributedSampler(letters)", "train.py"),)),
    Row("split-bad-sampler-made-by-helper", "train.py", SPLIT, "DistributedSampler", "INFERENCE",
        "this sampler is seeded with seed, which differs from rank to rank", ()),
    Row("collective-bad-return-before-barrier", "train.py", MEET, "dist.barrier", "INFERENCE",
        "Only rank 0 comes to this barrier. Every rank has to make this call (the model is wrapped at {})",
        (Place("DistributedDataParallel(Topics"),)),
    Row("collective-bad-evaluate-on-main", "train.py", MEET, "evaluate", "INFERENCE",
        "Only rank 0 comes to the all_reduce at {}", (Place("dist.all_reduce(", "engine.py"),)),
    Row("collective-bad-validate-wrapper-norm", "train.py", MEET, "model", "CONTROL_FLOW",
        "this forward of the wrapper, which broadcasts the buffers of the model. Every rank has to make this call (the "
        "model is wrapped at {})", (Place("DDP(BeatClassifier"),)),
    Row("race-bad-page-example", "train.py", RACE, "torch.load", "CONTROL_FLOW",
        "one rank alone writes it, at {} (model wrapped at {})", (Place("torch.save("), WRAP)),
    Row("race-bad-given-back-after-loop", "train.py", RACE, "keeper.give_back", "INFERENCE",
        "is read at {} by every rank, and one rank alone writes it, at {}",
        (Place("torch.load(", "keeper.py"), Place("torch.save(", "keeper.py"))),
    Row("exit-bad-patience-on-main", "train.py", EXIT, "break", "INFERENCE",
        "This 'break' is decided by the rank, so that some ranks may do it alone. The others then wait for ever in "
        "their next backward ({}, wrapped at {})", (Place("loss.backward()"), Place("DDP(nn.Sequential"))),
    Row("exit-bad-stopper-shard-metric", "train.py", EXIT, "break", "INFERENCE",
        "is decided by the samples of the rank", (Place("loss.backward()"), Place("DDP(net"))),
    Row("exit-bad-backward-where-finite", "train.py", EXIT, "if torch.isfinite(loss)", "CONTROL_FLOW",
        "Whether this backward is made is decided by the loss of the rank", (WRAP,)),
    Row("exit-bad-out-of-memory", "train.py", EXIT, "continue", "CONTROL_FLOW",
        "is decided by an error that one rank may have alone", (Place(".backward()"), WRAP)),
    Row("noautograd-bad-page-example", "train.py", LOSS, "dist.all_reduce", "HIGH",
        "the loss that goes backward at {} (model wrapped at {})", (Place("loss.backward()"), WRAP)),
    Row("noautograd-bad-gathered-negatives", "contrast.py", LOSS, "dist.all_gather", "INFERENCE",
        "the loss that goes backward at {}", (Place("loss.backward()", "train.py"),)),
    Row("mapload-bad-page-example", "train.py", PLACED, "torch.load", "HIGH",
        "(saved at {}, model wrapped at {})", (Place("torch.save("), WRAP)),
    Row("mapload-bad-path-from-option", "train.py", PLACED, "torch.load", "HIGH",
        "(saved at {}, model wrapped at {})", (Place("torch.save("), WRAP)),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.case)
def test_a_finding_is_where_it_should_be_and_names_the_other_places(row: Row, tmp_path: Path) -> None:
    case = tmp_path / row.case
    shutil.copytree(CASES / row.case, case)
    (case / ".git").mkdir()
    got = [message for message in told(case, row.file) if message["symbol"] == row.symbol]
    assert got
    first = got[0]
    marked = Place(f"[{row.symbol}]").line(case, row.file)
    text = (case / row.file).read_text(encoding="utf-8").splitlines()[marked - 1]
    column = text.index(row.underlined)
    assert (first["line"], first["column"]) == (marked, column)
    assert (first["endLine"], first["endColumn"]) == (marked, column + len(row.underlined))
    assert first["confidence"] == row.confidence
    named = [f"{p.file}:{n}" if p.file not in ("", row.file) else f"line {n}" for p, n in numbered(row, case)]
    assert row.says.format(*named) in first["message"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.case)
def test_each_place_that_is_named_is_handed_on(row: Row, tmp_path: Path) -> None:
    case = tmp_path / row.case
    shutil.copytree(CASES / row.case, case)
    (case / ".git").mkdir()
    findings = Analysis().findings(str(case / row.file), [row.symbol])
    first = next(f for f in findings if f.span.line == Place(f"[{row.symbol}]").line(case, row.file))
    lines = {(Path(other.path).relative_to(case).as_posix(), other.span.line) for other in first.related}
    assert {(place.file or row.file, line) for place, line in numbered(row, case)} <= lines
    assert len(first.related) == len(lines) <= 8
    for other in first.related:
        assert other.span.end_line - other.span.line <= 1
        assert re.search(r"\bhere\b|^this loop", other.text)


def test_each_rule_has_rows() -> None:
    rows = Counter(row.symbol for row in ROWS)
    assert [rule.symbol for rule in RULES if rows[rule.symbol] < 2] == []


def numbered(row: Row, case: Path) -> list[tuple[Place, int]]:
    return [(place, place.line(case, row.file)) for place in row.places]


def told(case: Path, file: str) -> list[dict[str, Any]]:
    """The messages of the real command on one file, with all rules on."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(case)
        main(["--output-format=json2", *(f"--enable={rule.symbol}" for rule in RULES), file])
    found: list[dict[str, Any]] = json.loads(out.getvalue())["messages"]
    return found


SAVING = '    torch.save(model.state_dict(), "model.pt")'


@pytest.mark.parametrize(
    ("written", "underlined"),
    [
        ('    note = "Größe in µm"; torch.save(model.state_dict(), "model.pt")', "torch.save"),
        ('    torch.save(model.state_dict(), "größe.pt")', "torch.save"),
        ('    torch.save(\n        model.state_dict(),\n        "model.pt",\n    )', "torch.save"),
        ('    (torch\n     .save)(model.state_dict(), "model.pt")', "torch\n     .save"),
        ('    \f\n    note = """a\n    b"""; torch.save(model.state_dict(), "model.pt")', "torch.save"),
        ('    (\n        torch.save\n    )(model.state_dict(), "model.pt")', "torch.save"),
    ],
    ids=["letters before it", "letters after it", "arguments below", "two lines", "a form feed", "parentheses"],
)
def test_columns_count_characters_and_lines_are_those_of_python(project: Path, written: str, underlined: str) -> None:
    source = TRAIN.replace(SAVING, written)
    (project / "train.py").write_text(source, encoding="utf-8")
    message = next(m for m in messages(ddplint("--output-format=json2", ".", cwd=project)) if m["symbol"] == SAVE)
    start = source.index(underlined, source.index(written))
    at = [position(source, offset) for offset in (start, start + len(underlined))]
    if (opened := written.lstrip()).startswith("("):
        # The call begins at its parenthesis.
        at[0] = position(source, source.index(opened))
    assert [(message["line"], message["column"]), (message["endLine"], message["endColumn"])] == at


def position(source: str, offset: int) -> tuple[int, int]:
    lines = re.split(r"\r\n|\r|\n", source[:offset])
    return len(lines), len(lines[-1])
