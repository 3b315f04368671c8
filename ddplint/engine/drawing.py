"""Random draws that decide which samples there are: what was drawn, and whether all ranks draw alike."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from enum import Enum

from ddplint.engine import facts
from ddplint.engine.conditions import Path, conjoin, meets
from ddplint.engine.ordering import deciding, ordered_by
from ddplint.engine.placing import function_of
from ddplint.engine.questions import Program, is_option
from ddplint.engine.values import AGREED, CONTAINERS, Class, Obj, Site, Value
from ddplint.project import Project

_DEEPEST = 4
_NO_DATA = frozenset({"module", "ddp", "dp", "optimizer", "loader"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _things(value: Value) -> Iterator[Obj]:
    """The objects that a value is, or is made of; what was taken from a collection is known of the value itself."""
    for atom in value.atoms():
        if isinstance(atom, Obj):
            yield atom
        else:
            yield from (part for part in atom.taint if isinstance(part, Obj) and part.kind not in CONTAINERS)


def _inside(thing: Obj) -> Iterator[Value]:
    """What decides on the samples that a data set or a sampler gives, and on their order."""
    if isinstance(thing.cls, Class):
        yield from (thing.attrs[name] for name in sorted(deciding(thing.cls)) if name in thing.attrs)
    elif thing.kind in CONTAINERS:
        yield from () if thing.notes.get("loose") else thing.attrs.values()
    else:
        given = thing.notes.get("args")
        yield from (*thing.attrs.values(), *(given.all() if given is not None else ()))


class Cause(Enum):
    """Why ranks draw differently."""

    BY_RANK = "seeded by rank"
    IN_PARENT = "seeded in the process that starts the ranks alone"
    OWN = "seeded from the machine's own randomness"
    CLOCK = "seeded from the clock"
    LOTS = "seeded with a number that each rank draws for itself"
    UNSEEDED = "not seeded"


def draws_behind(values: Iterable[Value], shared: bool = False) -> list[facts.Draw]:
    """The draws that decide what is in a data set or its indices, in order.

    ``shared``: only those of which each rank takes the part that its rank says.
    """
    found: set[facts.Draw] = set()
    seen: set[int] = set()

    def visit(value: Value, depth: int) -> None:
        for part in ordered_by(value):
            if isinstance(part, facts.ShareOf):
                found.add(part.draw)
            elif not shared:
                found.add(part)
        for thing in _things(value):
            if depth and id(thing) not in seen and thing.kind not in _NO_DATA:
                seen.add(id(thing))
                found.update(share.draw for share in thing.notes.get("deals", ()))
                for inner in _inside(thing):
                    visit(inner, depth - 1)

    for value in values:
        visit(value, _DEEPEST)
    return sorted(found, key=lambda draw: draw.index)


def cause(program: Program, draw: facts.Draw, path: Path) -> tuple[Cause, facts.Seed | None] | None:
    """Why ranks draw differently on ``path``, and where the generator was seeded; None where they may draw alike."""
    if draw.what.within(path).per_rank:
        return None  # the order of what one rank alone holds
    if _agreed_on(program, draw):
        return None
    given = draw.generator.within(path) if draw.generator is not None else None
    if given is None or given.constant() is None:
        return _of_global(program, draw, path)
    generator = given.only
    if not isinstance(generator, Obj) and (why := of_its_own(program, given, path)):
        return why, None
    if not isinstance(generator, Obj) or generator.kind != "rng":
        return None
    return _last(program, draw, [s for s in program.trace.of(facts.Seed) if s.generator is generator], path)


def differs(value: Value, path: Path) -> bool:
    """Whether ranks surely hold different values on ``path``."""
    here = value.within(path)
    own = [atom.per_rank for atom in here.atoms()]
    return here.per_rank and (all(own) or (not any(own) and AGREED not in here.taint))


def of_its_own(program: Program, value: Value, path: Path) -> Cause | None:
    """Why ranks hold different values on ``path``; None where they may hold the same.

    Where whoever starts the program may give the value instead, it is judged as if that was not done.
    """
    if differs(value, path):
        return Cause.BY_RANK
    found: Cause | None = None
    for atom in value.within(path).atoms():
        if is_option(atom):
            continue
        why = _read_or_drawn(program, atom.taint, path)
        if why is None:
            return None
        found = found or why
    return found


def _read_or_drawn(program: Program, made_of: frozenset[object], path: Path) -> Cause | None:
    """Whether a value is made of what each rank reads, or draws, for itself."""
    if AGREED in made_of:
        return None
    if any(isinstance(part, facts.Reading) and (part.worker or not program.spawns) for part in made_of):
        return Cause.CLOCK
    draws = [part.draw for part in made_of if isinstance(part, facts.Noise)]
    if any((draw.worker or not program.spawns) and cause(program, draw, path) for draw in draws):
        return Cause.LOTS
    return None


def _agreed_on(program: Program, draw: facts.Draw) -> bool:
    """Whether what was drawn on one rank is sent to the others."""
    return any(draw in event.tensors.taint for event in program.trace.of(facts.Collective) if event.index > draw.index)


def _of_global(program: Program, draw: facts.Draw, path: Path) -> tuple[Cause, facts.Seed | None] | None:
    sources = ("", draw.source, "torch") if draw.by_worker else ("", draw.source)
    seeds = [s for s in program.trace.of(facts.Seed) if s.generator is None and s.source in sources]
    left = [seed for seed in seeds if _stays_in_parent(program, seed, draw)]
    found = _last(program, draw, [seed for seed in seeds if seed not in left], path)
    if found is not None or any(_may_come_first(s, draw) and meets(s.path, path) for s in seeds if s not in left):
        return found
    if not program.trace.complete or _seeds_on_import(program.project, program.trace.entry):
        return None
    if draw.worker and not all(spawn.anew for spawn in program.spawns):
        return None  # copies of one process may go on with the state that it had
    return (Cause.IN_PARENT, left[-1]) if left else (Cause.UNSEEDED, None)


def _stays_in_parent(program: Program, seed: facts.Seed, draw: facts.Draw) -> bool:
    """Whether a seed is set before ranks are started as interpreters of their own, which do not run that part."""
    if seed.worker or not draw.worker or not all(spawn.anew for spawn in program.spawns):
        return False
    return bool(seed.chain) or _only_as_main(seed.site)


def _only_as_main(site: Site) -> bool:
    """Whether a place stands in a file's ``if __name__ == "__main__":``."""
    return any(
        isinstance(statement, ast.If)
        and statement.lineno <= site.line <= (statement.end_lineno or statement.lineno)
        and any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(statement.test))
        for statement in site.module.tree.body
    )


def _may_come_first(seed: facts.Seed, draw: facts.Draw) -> bool:
    """Whether a generator may be seeded before a draw is made: before, or in a function that is started by itself."""
    return seed.index < draw.index or function_of(_root(seed)) != function_of(_root(draw))


def _root(event: facts.Event) -> Site:
    return (*event.chain, event.site)[0]


def _last(
    program: Program, draw: facts.Draw, seeds: list[facts.Seed], path: Path
) -> tuple[Cause, facts.Seed | None] | None:
    """What the last seeding before a draw does to it; None where ranks may be seeded alike, or none is seen."""
    found: tuple[Cause, facts.Seed | None] | None = None
    for seed in reversed(seeds):
        both = conjoin(seed.path, path)
        if seed.index >= draw.index or not both:
            continue
        if seed.seed is None:
            found = found or (Cause.OWN, seed)
        elif why := of_its_own(program, seed.seed, both):
            found = found or (why, seed)
        else:
            return None
        if all(any(case.implies(other) for other in seed.path) for case in path):
            break
    return found


def _seeds_on_import(project: Project, entry: str) -> bool:
    """Whether a file that a program imports seeds something at its top level, which is not followed."""
    waiting, seen = [entry], {entry}
    while waiting:
        for path in project.imports(waiting.pop()):
            if path not in seen and os.path.basename(path).endswith(".py"):
                seen.add(path)
                waiting.append(path)
                if b"seed" in (project.source(path) or b"") and (module := project.module(path)) is not None:
                    if any(_seeds(statement) for statement in _top_level(module.tree)):
                        return True
    return False


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    return (statement for statement in tree.body if not isinstance(statement, _DEFINITIONS))


def _seeds(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Call) and "seed" in (getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
        for node in ast.walk(statement)
    )
