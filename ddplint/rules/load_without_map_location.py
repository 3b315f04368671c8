"""ddp-load-without-map-location: every rank loads a checkpoint to the device of the rank that saved it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import meets
from ddplint.engine.placing import place_to_report, settled_chain
from ddplint.engine.questions import Program, literal_tail
from ddplint.engine.values import Site
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place

SYMBOL = "ddp-load-without-map-location"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Loads of the program's own checkpoints that leave the tensors where they were."""
    wrong: list[tuple[facts.Load, facts.Save, facts.Wrap]] = []
    right: dict[Site, list[tuple[Site, ...]]] = defaultdict(list)
    for program in programs:
        wrap = _wrap_on_accelerator(program)
        for load in program.trace.of(facts.Load):
            if wrap is None or load.how != "torch.load" or not program.on_many_ranks(load):
                continue
            save = _own_checkpoint(program, load)
            if save is not None and _is_left_in_place(load):
                wrong.append((load, save, wrap))
            else:
                right[load.site].append(settled_chain((*load.chain, load.site)))
    for load, save, wrap in wrong:
        site = place_to_report((*load.chain, load.site), right[load.site])
        yield _finding(site, load, save, wrap)


def _wrap_on_accelerator(program: Program) -> facts.Wrap | None:
    """A wrap of a network that was moved to an accelerator, or that is said to be on one."""
    for wrap in program.wraps:
        moved = any(move.what == "device" and move.target.constant() != "cpu" for move in wrap.moved)
        if moved or wrap.device_ids.constant() is not None:
            return wrap
    return None


def _own_checkpoint(program: Program, load: facts.Load) -> facts.Save | None:
    """The save of a network's state that may have written what is loaded into a network."""
    if load.file.per_rank or not any(load in event.made_of for event in program.trace.of(facts.LoadInto)):
        return None
    for save in program.trace.of(facts.Save):
        states = save.content is not None and any(isinstance(p, facts.StateDict) for p in save.content.taint)
        if states and meets(save.path, program.wrapped) and _is_file(save, load):
            return save
    return None


def _is_file(save: facts.Save, load: facts.Load) -> bool:
    """Whether a load reads what a save writes: by the same path, or by one that whoever starts the program gives."""
    return save.file.key == load.file.key or literal_tail(load.file) in (None, literal_tail(save.file))


def _is_left_in_place(load: facts.Load) -> bool:
    return load.placed is None or load.placed.constant() is None


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
