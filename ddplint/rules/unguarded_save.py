"""ddp-unguarded-save: every rank writes one path at once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import EVERY_RANK, forgotten, meets
from ddplint.engine.placing import first_of_arms, places_to_report
from ddplint.engine.questions import Program
from ddplint.engine.values import UNSEEN, Obj, Site
from ddplint.findings import Finding
from ddplint.rules.base import Other, Rule, finding, place
from ddplint.rules.wording import is_statement, name_of

SYMBOL = "ddp-unguarded-save"
_ASKS_FOR_FILES = re.compile(r"exists|is_?file|is_?dir|^builtins\.(?:all|any)\(")


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Writes that every rank does to one file."""
    wrong: dict[Site, list[facts.Event]] = defaultdict(list)
    right: dict[Site, list[facts.Event]] = defaultdict(list)
    wraps: dict[int, Program] = {}
    for program in programs:
        if not program.wraps or not program.joins_ranks:
            continue
        unguarded: list[facts.Event] = []
        for save in program.trace.of(facts.Save):
            wraps[id(save)] = program
            if _first_goes_ahead(program, save):
                continue
            if program.unguarded(save):
                if _one_file(save):
                    unguarded.append(save)
                elif save.file.per_rank:
                    right[save.site].append(save)
            elif program.on_many_ranks(save) or (program.in_parent(save) and not _before_spawn(program, save)):
                continue  # perhaps guarded, or a run in one process: it says nothing about the ranks
            elif meets(save.path, program.wrapped):
                right[save.site].append(save)
        for event in first_of_arms({save: (*save.chain, save.site) for save in unguarded}):
            wrong[event.site].append(event)
    found: dict[Site, list[_Write]] = defaultdict(list)
    for construct, events in wrong.items():
        alone = any(_joined(program, save) is not True for program in programs for save in _at(program, construct))
        for site, event in places_to_report(events, right[construct]):
            assert isinstance(event, facts.Save)
            found[site].append(_Write(wraps[id(event)], event, alone))
    for site, writes in found.items():
        writes.sort(key=lambda write: write.save.site.place)
        yield _finding(site, writes)


@dataclass(frozen=True)
class _Write:
    """A write that every rank does. ``alone``: its line also runs where no process group is."""

    program: Program
    save: facts.Save
    alone: bool


def _finding(site: Site, writes: list[_Write]) -> Finding:
    """One message for what is written at one place, or by one call."""
    first = writes[0]
    how = first.save.how
    places = " and ".join(dict.fromkeys(place(write.save.site, site) for write in writes))
    what, written = _what(how), "" if first.save.site == site else f" (written at {places})"
    if len(writes) > 1:
        what, written = "Files are written", f" (at {places})"
    wrap = first.program.wraps[0].site
    details = (what, written, place(wrap, site), _harm(how), _cure(site, writes, places))
    done = "removed" if how in REMOVALS else "written"
    others: list[Other] = [(write.save.site, f"it is {done} here") for write in writes]
    others.append((wrap, "the model is wrapped here"))
    others += [(call, "") for write in writes for call in write.save.chain]
    return finding(SYMBOL, site, details, others, branch=True)


def _before_spawn(program: Program, save: facts.Save) -> bool:
    """Whether the write is one that the parent makes for the ranks it is about to start, as far as can be told."""
    return program.before_spawn(save) and not forgotten(save.path)


def _first_goes_ahead(program: Program, save: facts.Save) -> bool:
    """Whether the other ranks wait until one has been here, and then find the file."""
    asks = [any(_may_be_due_to_file(key.text, answer) for key, answer in case.facts) for case in save.path]
    if not all(asked or forgotten((case,)) for asked, case in zip(asks, save.path, strict=True)):
        return False
    barriers = [e for e in program.trace.of(facts.Collective) if e.name == "barrier" and _parts_ranks(e)]
    return any(
        before.index < save.index < after.index and not meets(before.path, after.path)
        for before in barriers
        for after in barriers
    )


def _may_be_due_to_file(test: str, answer: bool) -> bool:
    """Whether the answer to a test may be due to a file: it is not found, not opened, or holds something else."""
    if "loaded from" in test:
        return True
    return test.startswith("exception at ") if answer else _ASKS_FOR_FILES.search(test) is not None


def _parts_ranks(event: facts.Event) -> bool:
    return any(case.mask != EVERY_RANK or case.unsure for case in event.path)


def _one_file(save: facts.Save) -> bool:
    """Whether the file is the same one for every rank, as far as can be seen."""
    if any(isinstance(part, Obj) and part.kind == "loader" for part in save.file.taint):
        return False  # named after a batch, of which each rank may see its own
    return not save.file.per_rank and UNSEEN not in save.file.taint


def _at(program: Program, construct: Site) -> Iterator[facts.Save]:
    return (save for save in program.trace.of(facts.Save) if save.site == construct)


def _joined(program: Program, save: facts.Save) -> bool | None:
    """Whether the process group is there when the file is written: surely, perhaps (None), or only later (False)."""
    joins = list(program.trace.of(facts.Join))
    before = [join for join in joins if join.index < save.index]
    if not before:
        return None if not any(meets(join.path, save.path) for join in joins) else False
    # cases alone do not tell: where a test asks whether there are many ranks, only that way is followed
    always = [case for join in program.surely_joins if join in before for case in join.path]
    return all(any(joined.facts <= case.facts for joined in always) for case in save.path) or None


def _cure(site: Site, writes: list[_Write], places: str) -> str:
    """What to write, and where."""
    inside = any(_is_for_all(write.program, write.save, site) for write in writes)
    test = _rank_test(writes[0].save.site if inside else site, writes)
    if inside:
        these = "writes" if len(writes) > 1 else "write"
        return f"Put the {these} at {places} under {test}, not this call: every rank has to make it"
    return f"Put it under {test}"


def _rank_test(site: Site, writes: list[_Write]) -> str:
    """A test that one rank passes, in the names of the file of ``site``."""
    get_rank = name_of("torch.distributed.get_rank", site)
    early = [write for write in writes if _joined(write.program, write.save) is False]
    if any(not write.save.worker for write in early):
        # a test of the group would be open for every rank here
        return f'\'if {name_of("os.environ", site)}.get("RANK", "0") == "0":\' (the process group is not there yet)'
    if early:
        return f"'if {get_rank}() == 0:', behind {name_of('torch.distributed', site)}.init_process_group"
    if any(write.alone for write in writes):
        return f"'if not {name_of('torch.distributed.is_initialized', site)}() or {get_rank}() == 0:'"
    return f"'if {get_rank}() == 0:'"


def _is_for_all(program: Program, save: facts.Save, site: Site) -> bool:
    """Whether every rank needs the call at ``site``, one of those that lead to the write: for what it gives or does."""
    if site not in save.chain:
        return False
    route = (*save.chain[: save.chain.index(site)], site)
    together = (facts.Wrap, facts.Backward, facts.Collective, facts.Join)
    return not is_statement(site) or any(
        isinstance(event, together) and event.chain[: len(route)] == route for event in program.trace.events
    )


REMOVALS = ("os.remove", "os.unlink", "Path.unlink", "Path.rmdir")


def _what(how: str) -> str:
    if how == "open":
        return "This file is opened for writing"
    if how in REMOVALS:
        return f"This file is removed ({how})"
    return f"This file is written ({how})"


def _harm(how: str) -> str:
    if how in REMOVALS:
        return "For all but the first it is gone, and they raise FileNotFoundError"
    return "The last writer wins, and writers of different sizes leave a corrupt file"


RULE = Rule(
    id="W7104",
    symbol=SYMBOL,
    message=("%s by every rank at once%s: the model is wrapped at %s, and no test of the rank stands over it. %s. %s"),
    check=check,
)
