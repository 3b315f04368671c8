"""ddp-wrapper-state-dict: a file whose keys begin with ``module.``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ddplint.engine import facts, prefixes
from ddplint.engine.conditions import Case, Path, conjoin, forgotten, meets
from ddplint.engine.questions import Program, may_be_one_file, may_be_plain, may_end_with
from ddplint.engine.values import Obj, Site, Sym, Value
from ddplint.findings import Finding
from ddplint.rules.base import Other, Rule, finding, place, wrapped_at, wrapped_here
from ddplint.rules.wording import argument, receiver, written

SYMBOL = "ddp-wrapper-state-dict"
_OF_TENSORS = ("torch.save", "safetensors", "pickle.dump", "dill.dump", "joblib.dump")


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """State dicts of a wrapper that reach a file."""
    unwrapped = {
        state.site
        for program in programs
        for state in program.trace.of(facts.StateDict)
        if state.module.kind == "module"
    }
    for program in programs:
        for save in program.trace.of(facts.Save):
            states, wrappers = _prefixed(program, save)
            if not states and not wrappers:
                continue
            loads = _loads_into_wrapper(programs, save)
            if _goes_back(program, save, loads):
                continue
            for state in states:
                wrapper = state.module
                what = "the state_dict()" if state.how == "state_dict" else f"what is named by {state.how}()"
                where = wrapped_at(wrapper, state.site), place(save.site, state.site)
                model = receiver(state.site, "model")
                cure = _cure(model, state.how, state.site in unwrapped or may_be_plain(wrapper))
                also, loaded = _then_load(loads, model, state.site)
                details = ("Keys", f"{what} of the wrapper", *where, cure + also)
                others = [wrapped_here(wrapper), (save.site, "it is written here"), *loaded]
                yield finding(SYMBOL, state.site, details, others)
            for wrapper in wrappers:
                where = wrapped_at(wrapper, save.site), place(save.site, save.site)
                model = written(argument(save.site, 0), "model")
                cure = _cure(model, "state_dict", may_be_plain(wrapper))
                also, loaded = _then_load(loads, model, save.site)
                details = ("The keys of what is saved", "the wrapper itself", *where, cure + also)
                yield finding(SYMBOL, save.site, details, [wrapped_here(wrapper), *loaded])


def read_again(programs: Sequence[Program]) -> Iterator[Site]:
    """The calls that write a file which is read where prefixed keys are wanted: silence holds for these."""
    for program in programs:
        for save in program.trace.of(facts.Save):
            if save.content is not None and _goes_back(program, save, _loads_into_wrapper(programs, save)):
                yield save.site


def _prefixed(program: Program, save: facts.Save) -> tuple[list[facts.StateDict], list[Obj]]:
    """What a file is given that has the prefix: state dicts of wrappers, and wrappers themselves."""
    if save.content is None:
        return [], []
    states = []
    for state in _states(save.content):
        wrapper = state.module
        path = conjoin(conjoin(save.path, state.path), wrapper.path)
        if wrapper.kind != "ddp" or not path or state.stripped or _unwrapped_out_of_sight(path, wrapper):
            continue
        if _names_weights(state, save) and not _may_be_unwrapped(program, state, path):
            states.append(state)
    wrappers = []
    for wrapper, case in _wrappers(save.content, 3):
        path = conjoin(conjoin(save.path, wrapper.path), (case,))
        if path and not _unwrapped_out_of_sight(path, wrapper):
            wrappers.append(wrapper)
    return states, wrappers


def _cure(model: str, method: str, plain_too: bool) -> str:
    """What to write in place of the call; ``plain_too``: it has to hold for a model that is not wrapped, too."""
    return f"{'Save' if method == 'state_dict' else 'Go over'} {_inner(model, plain_too)}.{method}()"


def _inner(model: str, plain_too: bool) -> str:
    return f'getattr({model}, "module", {model})' if plain_too else f"{model}.module"


def _names_weights(state: facts.StateDict, save: facts.Save) -> bool:
    """Whether what is saved is a state dict, or one that was put together by names for this very file."""
    if state.how == "state_dict":
        return True
    depth = min(len(state.chain), len(save.chain))
    together = state.chain[:depth] == save.chain[:depth] and state.loops == save.loops
    return together and save.how in _OF_TENSORS


def _states(content: Value) -> list[facts.StateDict]:
    """The state dicts that a file is given, in whatever they are packed."""
    found: dict[int, facts.StateDict] = {}
    seen: set[int] = set()

    def visit(value: Value, depth: int) -> None:
        for part in value.taint:
            if isinstance(part, facts.StateDict):
                found[part.index] = part
        for atom in value.atoms():
            if (
                isinstance(atom, Obj)
                and id(atom) not in seen
                and depth
                and atom.kind not in ("ddp", "module", "loader")
            ):
                seen.add(id(atom))
                for state in atom.notes.get("states", ()):
                    found[state.index] = state
                for inner in atom.attrs.values():
                    visit(inner, depth - 1)

    visit(content, 5)
    return [found[index] for index in sorted(found)]


def _unwrapped_out_of_sight(path: Path, wrapper: Obj) -> bool:
    """Whether the wrapper gets here only by the answer of a function out of sight that was asked about it."""
    original = wrapper.notes.get("copy of", wrapper)
    asked = re.compile(rf"^call .*{original.key}\b")
    return all(any(asked.match(key.text) for key, _ in case.facts) for case in path)


def _may_be_unwrapped(program: Program, state: facts.StateDict, path: Path) -> bool:
    """Whether the call gets the network inside too where it is wrapped, and what tells the two apart was forgotten."""
    wrap = state.module.notes.get("wrap")
    if not isinstance(wrap, facts.Wrap) or not forgotten(path):
        return False
    inner = set(wrap.inner.atoms())
    return any(
        other.site == state.site and other.module in inner and meets(other.path, wrap.path)
        for other in program.trace.of(facts.StateDict)
    )


def _wrappers(content: Value, depth: int) -> Iterator[tuple[Obj, Case]]:
    for case, atom in content.alternatives:
        if isinstance(atom, Obj):
            if atom.kind == "ddp":
                yield atom, case
            elif atom.kind in ("dict", "list", "tuple") and depth:
                for inner in atom.attrs.values():
                    yield from _wrappers(inner, depth - 1)


_Loads = list[tuple[Program, facts.LoadInto, facts.Load]]
"""Where a file is read into a wrapper: the program, the call, and the read."""


def _goes_back(program: Program, save: facts.Save, loads: _Loads) -> bool:
    """Whether the file is read where prefixed keys are wanted: into a wrapper again, or by code that strips them."""
    entries = _entries(save.content)
    project = program.project
    for read in prefixes.stripped(project):
        if not may_end_with(save.file, read.tail):
            continue
        if read.entries is not None and entries and not entries & read.entries:
            continue
        writer = save.site.module.path
        if any(prefixes.belong_together(project, read.reader, path) for path in (program.trace.entry, writer)):
            return True
    # the same call into the plain model as well: it depends on the launch whether the keys match
    return any(
        not any(_plain_twin(twin, load, source) for twin in other.trace.of(facts.LoadInto))
        for other, load, source in loads
    )


def _loads_into_wrapper(programs: Sequence[Program], save: facts.Save) -> _Loads:
    """Where the file is read into a wrapper."""
    entries = _entries(save.content)
    return [
        (other, load, source)
        for other in programs
        for load in other.trace.of(facts.LoadInto)
        if load.module.kind == "ddp" and (entries is None or load.entry is None or load.entry in (entries or {""}))
        for source in load.made_of
        if isinstance(source, facts.Load) and may_be_one_file(source.file, save.file)
    ]


def _then_load(loads: _Loads, model: str, seen_from: Site) -> tuple[str, list[Other]]:
    """What else is to be written, where the file is read into the wrapper again, which wants the prefix, and where."""
    if not loads:
        return "", []
    found = [load for _, load, _ in loads]
    load = next((load for load in found if receiver(load.site, "model") == model), found[0])
    inner = _inner(receiver(load.site, "model"), plain_too=True)
    return f", and load it into {inner} at {place(load.site, seen_from)}", [(load.site, "it is loaded again here")]


def _plain_twin(twin: facts.LoadInto, load: facts.LoadInto, source: facts.Load) -> bool:
    """Whether ``twin`` is the call ``load`` where nothing is wrapped."""
    wrap = load.module.notes.get("wrap")
    beside_wrap = isinstance(wrap, facts.Wrap) and wrap.chain == load.chain
    if twin.module.kind != "module" or twin.site != load.site:
        return False
    if twin.chain[-1:] != load.chain[-1:] and not beside_wrap:
        return False
    unseen = twin.module.notes.get("unseen")
    if unseen is not None and not (isinstance(wrap, facts.Wrap) and unseen in wrap.inner.atoms()):
        return False
    return any(isinstance(e, facts.Load) and may_be_one_file(e.file, source.file) for e in twin.made_of)


def _entries(content: Value | None) -> frozenset[str] | None:
    """The entries of what is saved; empty for a bare state dict, None where they are not all seen."""
    found: set[str] = set()
    for atom in content.atoms() if content is not None else ():
        if isinstance(atom, Sym) and any(isinstance(part, facts.StateDict) for part in atom.made_of):
            continue
        if not isinstance(atom, Obj) or atom.kind != "dict":
            return None
        if atom.notes.get("states"):
            continue
        if atom.notes.get("loose") or "*" in atom.attrs:
            return None
        found.update(name[2:-2] for name in atom.attrs if name.startswith("['"))
    return frozenset(found)


RULE = Rule(
    id="W7103",
    symbol=SYMBOL,
    message=(
        "%s begin with 'module.': %s (DistributedDataParallel, made at %s) is written at %s. "
        "The plain model refuses such a file, or with strict=False loads nothing. %s"
    ),
    check=check,
)
