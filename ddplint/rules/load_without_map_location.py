"""ddp-load-without-map-location: every rank loads a checkpoint to the device of the rank that saved it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import meets
from ddplint.engine.library import CUDA, holds
from ddplint.engine.placing import place_to_report, settled_chain
from ddplint.engine.questions import Program, is_cpu, is_option, literal_tail
from ddplint.engine.values import CONTAINERS, SENT_HOME, Const, Obj, Site, Sym, Value
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place

SYMBOL = "ddp-load-without-map-location"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Loads of the program's own checkpoints that leave the tensors where they were."""
    wrong: list[tuple[facts.Load, facts.Save, facts.Wrap]] = []
    right: dict[Site, list[tuple[Site, ...]]] = defaultdict(list)
    for program in programs:
        for load in program.trace.of(facts.Load) if program.wraps else ():
            if load.how != "torch.load" or not program.on_many_ranks(load):
                continue
            save = _own_checkpoint(program, load)
            if save is not None and _is_left_in_place(load):
                wrong.append((load, save, program.wraps[0]))
            else:
                right[load.site].append(settled_chain((*load.chain, load.site)))
    for load, save, wrap in wrong:
        site = place_to_report((*load.chain, load.site), right[load.site])
        yield _finding(site, load, save, wrap)


def _own_checkpoint(program: Program, load: facts.Load) -> facts.Save | None:
    """The save, from an accelerator, of a network's state that may have written what is loaded into a network."""
    if load.file.per_rank or not any(load in event.made_of for event in program.trace.of(facts.LoadInto)):
        return None
    for save in program.trace.of(facts.Save):
        if save.content is None or _was_sent_home(save.content):
            continue
        states = [part for part in save.content.taint if isinstance(part, facts.StateDict)]
        if not states or not all(_on_accelerator(program, state) for state in states):
            continue
        if meets(save.path, program.wrapped) and _is_file(save, load):
            return save
    return None


def _was_sent_home(content: Value, depth: int = 3) -> bool:
    """Whether entries of a state were sent to the processor before they are saved."""
    for atom in content.atoms():
        if SENT_HOME in atom.taint and isinstance(atom, Sym) and any(isinstance(p, facts.PartOf) for p in atom.taint):
            return True
        if isinstance(atom, Obj) and atom.kind in CONTAINERS and depth:
            if any(_was_sent_home(value, depth - 1) for value in atom.attrs.values()):
                return True
    return False


def _on_accelerator(program: Program, state: facts.StateDict) -> bool:
    """Whether the last move of a network before its state was taken was to an accelerator.

    Where none is seen: whether its wrap says so, or the backend, which takes nothing else.
    """
    network = state.module
    inner = network.attrs["module"].atoms() if network.kind in ("ddp", "dp") and "module" in network.attrs else ()
    things = [network, *(part for part in inner if isinstance(part, Obj))]
    moves = [
        move
        for move in program.trace.of(facts.Move)
        if move.index < state.index and move.what == "device" and any(holds(move.module, thing) for thing in things)
    ]
    if moves:
        return not is_cpu(moves[-1].target)
    wraps = [wrap for thing in things for note in ("wrap", "wrapped") if (wrap := thing.notes.get(note)) is not None]
    backends = [join.backend for join in program.trace.of(facts.Join) if join.backend is not None]
    return any(wrap.device_ids.constant() is not None for wrap in wraps) or (
        bool(wraps) and any(Const("nccl") in backend.atoms() for backend in backends)
    )


def _is_file(save: facts.Save, load: facts.Load) -> bool:
    """Whether a load reads what a save writes: by the same path, or by one that whoever starts the program gives."""
    if save.file.key == load.file.key or any(is_option(atom) for atom in load.file.atoms()):
        return True
    tail = literal_tail(load.file)
    return tail is not None and tail == literal_tail(save.file)


def _is_left_in_place(load: facts.Load) -> bool:
    """Whether nothing says where the tensors go, or nothing where there is an accelerator."""
    if load.placed is None or load.placed.constant() is None:
        return True
    return any(
        isinstance(atom, Const) and atom.value is None and (CUDA, True) in case.facts and len(case.facts) == 1
        for case, atom in load.placed.within(load.path).alternatives
    )


def _finding(site: Site, load: facts.Load, save: facts.Save, wrap: facts.Wrap) -> Finding:
    loads = "This load" if site == load.site else f"The load at {place(load.site, site)}"
    others = [
        (load.site, "the file is loaded here"),
        (save.site, "the checkpoint is saved here"),
        (wrap.site, "the model is wrapped here"),
    ]
    details = (loads, place(save.site, site), place(wrap.site, site))
    return finding(SYMBOL, site, details, others)


RULE = Rule(
    id="W7118",
    symbol=SYMBOL,
    message=(
        "%s has no map_location, so every rank puts the checkpoint (saved at %s, model wrapped at %s) on the device of "
        'the rank that saved it. Pass map_location="cpu", or the rank\'s own device'
    ),
    check=check,
    default_enabled=False,
)
