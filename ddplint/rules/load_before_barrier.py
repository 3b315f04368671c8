"""ddp-load-before-barrier: a file that one rank writes is read by all of them, and nothing makes them wait for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import Case, conjoin, meets
from ddplint.engine.placing import function_of, other_calls, place_to_report, settled_chain
from ddplint.engine.questions import Program
from ddplint.engine.values import Site
from ddplint.engine.waiting import may_wait_between
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place
from ddplint.rules.unguarded_save import REMOVALS
from ddplint.rules.wording import name_of

SYMBOL = "ddp-load-before-barrier"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Loads of what one rank has just written."""
    wrong: list[tuple[Program, facts.Load, facts.Save]] = []
    right: dict[Site, list[tuple[Site, ...]]] = defaultdict(list)
    for program in programs:
        if not program.wraps or not program.joins_ranks:
            continue
        for load in program.trace.of(facts.Load):
            save = _just_written(program, load) if program.on_many_ranks(load) else None
            if save is not None:
                wrong.append((program, load, save))
            else:
                right[load.site].append(settled_chain((*load.chain, load.site)))
    routes = {load: settled_chain((*load.chain, load.site)) for _, load, _ in wrong}
    bad = set(routes.values())  # a load in a loop may be right in its first round
    for program, load, save in wrong:
        good = [route for route in right[load.site] if route not in bad]
        unseen = other_calls(routes[load], [*bad, *good])
        site = place_to_report(routes[load], [*good, *((call, load.site) for call in unseen)])
        yield _finding(site, program, load, save)


def _just_written(program: Program, load: facts.Load) -> facts.Save | None:
    """The write of the file by one rank since which no rank has waited for it."""
    if not program.trace.complete or load.file.per_rank:
        return None
    before = [
        save
        for save in program.trace.of(facts.Save)
        if save.index < load.index
        and save.how not in REMOVALS
        and save.file.key == load.file.key
        and meets(save.path, load.path)
        and function_of(_root(save)) == function_of(_root(load))
    ]
    if not before or not _by_one_rank(program, before[-1]) or may_wait_between(program, before[-1], load):
        return None
    return before[-1]


def _root(event: facts.Event) -> Site:
    return (*event.chain, event.site)[0]


def _by_one_rank(program: Program, save: facts.Save) -> bool:
    """Whether a test of the rank surely leaves one rank, of all or of each node, to write."""
    mask = 0
    for case in conjoin(save.path, program.wrapped):
        mask |= case.mask
    return bool(mask) and not program.in_parent(save) and not Case(mask).crowded()


def _finding(site: Site, program: Program, load: facts.Load, save: facts.Save) -> Finding:
    wrap = program.wraps[0].site
    read = "is read here" if site == load.site else f"is read at {place(load.site, site)}"
    barrier = f"{name_of('torch.distributed.barrier', site)}()"
    details = (read, place(save.site, site), place(wrap, site), barrier)
    others = [
        (save.site, "one rank writes it here"),
        (load.site, "it is read here"),
        (wrap, "the model is wrapped here"),
    ]
    return finding(SYMBOL, site, details, others, branch=True)


RULE = Rule(
    id="W7116",
    symbol=SYMBOL,
    message=(
        "The file %s by every rank, and one rank alone writes it, at %s (model wrapped at %s), and no rank waits for "
        "that in between. The others find no file, an old one or half of one. Call %s before it is read"
    ),
    check=check,
)
