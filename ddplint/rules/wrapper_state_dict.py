"""ddp-wrapper-state-dict: a file whose keys begin with ``module.``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import conjoin
from ddplint.engine.questions import Program, may_be_one_file
from ddplint.engine.values import Obj, Value
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place, wrapped_at

SYMBOL = "ddp-wrapper-state-dict"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """State dicts of a wrapper that reach a file."""
    for program in programs:
        for save in program.trace.of(facts.Save):
            if save.content is None:
                continue
            for state in _states(save.content):
                wrapper = state.module
                path = conjoin(conjoin(save.path, state.path), wrapper.path)
                if wrapper.kind != "ddp" or not path or state.stripped or _goes_back(programs, save):
                    continue
                yield finding(
                    SYMBOL,
                    state.site,
                    ("Keys", "state_dict()", wrapped_at(wrapper, state.site), place(save.site, state.site)),
                    [save.site, *([wrapper.site] if wrapper.site else [])],
                )
            for wrapper in _wrappers(save.content, 3):
                if conjoin(save.path, wrapper.path) and not _goes_back(programs, save):
                    details = ("The wrapper itself is saved: its keys", "the wrapper")
                    at = wrapped_at(wrapper, save.site)
                    yield finding(SYMBOL, save.site, (*details, at, place(save.site, save.site)), [])


def _states(content: Value) -> list[facts.StateDict]:
    """The state dicts that a file is given, in whatever they are packed."""
    found: dict[int, facts.StateDict] = {}
    seen: set[int] = set()

    def visit(value: Value, depth: int) -> None:
        for part in value.taint:
            if isinstance(part, facts.StateDict):
                found[part.index] = part
        for atom in value.atoms():
            if isinstance(atom, Obj) and id(atom) not in seen and depth and atom.kind not in ("ddp", "module", "loader"):
                seen.add(id(atom))
                for state in atom.notes.get("states", ()):
                    found[state.index] = state
                for inner in atom.attrs.values():
                    visit(inner, depth - 1)

    visit(content, 5)
    return [found[index] for index in sorted(found)]


def _wrappers(content: Value, depth: int) -> Iterator[Obj]:
    for atom in content.atoms():
        if isinstance(atom, Obj):
            if atom.kind == "ddp":
                yield atom
            elif atom.kind in ("dict", "list", "tuple") and depth:
                for inner in atom.attrs.values():
                    yield from _wrappers(inner, depth - 1)


_PREFIX = (b'"module.', b"'module.")


def _goes_back(programs: Sequence[Program], save: facts.Save) -> bool:
    """Whether the file is read where prefixed keys are wanted: into a wrapper again, or by code that strips them."""
    project = programs[0].project
    for path in project.holding(_PREFIX):
        if b"load" in (project.source(path) or b""):
            return True
    for program in programs:
        for load in program.trace.of(facts.LoadInto):
            if load.module.kind != "ddp":
                continue
            for source in load.made_of:
                if isinstance(source, facts.Load) and may_be_one_file(source.file, save.file):
                    return True
    return False


RULE = Rule(
    id="W7103",
    symbol=SYMBOL,
    message=(
        "%s begin with 'module.': %s is taken of the DistributedDataParallel wrapper made at %s and written at %s. "
        "The plain model refuses such a file, or with strict=False loads nothing. Save model.module.state_dict()"
    ),
    description=(
        "The state dict of the DistributedDataParallel wrapper is saved. Each of its keys begins with 'module.', so the "
        "plain model refuses the file (missing and unexpected keys), or with strict=False loads nothing and says "
        "nothing. Save model.module.state_dict()."
    ),
    check=check,
)
