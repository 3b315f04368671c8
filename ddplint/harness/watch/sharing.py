"""The training loaders that correspond to each other on the ranks, and whether their rows can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.watch.orders import VARIED
from ddplint.harness.watch.passes import Pass, by_loader, hashable

if TYPE_CHECKING:
    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Place, Run
    from ddplint.harness.watch.passes import Row

Trained = tuple["Place", "Event", dict[int, list[Pass]]]
"""A loader's place, its making on one rank, and its training passes by rank."""


def matched(run: Run, passes: dict[int, list[Pass]]) -> list[Trained]:
    """The training loaders that correspond to each other on the ranks, with their ``passes`` by rank."""
    found: dict[Place, tuple[Event, dict[int, list[Pass]]]] = {}
    for rank in run.ranks:
        for loader, some in by_loader(passes[rank.number]).items():
            place = rank.place("loader", loader)
            if place is not None:
                found.setdefault(place, (rank.made("loader")[loader], {}))[1][rank.number] = some
    return _partnered([(place, *its) for place, its in found.items()], run.world)


def _partnered(loaders: list[Trained], world: int) -> list[Trained]:
    """Loaders that the ranks made at places of their own correspond, where each rank trained on one such."""
    whole = [loader for loader in loaders if len(loader[2]) == world]
    lone = [loader for loader in loaders if len(loader[2]) < world]
    ranks = [rank for _, _, by_rank in lone for rank in by_rank]
    if len(lone) > 1 and len(set(ranks)) == len(ranks):
        together = {rank: some for _, _, by_rank in lone for rank, some in by_rank.items()}
        return [*whole, (lone[0][0], lone[0][1], together)]
    return loaders


def has_one_data_set(by_rank: dict[int, list[Pass]]) -> bool | None:
    """Whether the ranks' data sets have the same row under each index that several ranks read; None if not known."""
    known: dict[Row, tuple[int, Row]] = {}
    shared = 0
    for rank, passes in by_rank.items():
        for one in passes:
            indices, rows = one.indices(), one.rows()
            if not indices or not rows or len(indices) != len(rows):
                return None
            for index, row in zip(hashable(indices), rows, strict=True):
                first, its = known.setdefault(index, (rank, row))
                if first != rank:
                    shared += 1
                    if its != row:
                        return False
    return True if shared >= VARIED else None


def varies(by_rank: dict[int, list[Pass]]) -> bool:
    """Whether a row of one index is another each time it is read: then its hash says nothing about what it is."""
    for passes in by_rank.values():
        known: dict[Row, Row] = {}
        for one in passes:
            indices, rows = one.indices(), one.rows()
            if indices and rows and len(indices) == len(rows):
                for index, row in zip(hashable(indices), rows, strict=True):
                    if known.setdefault(index, row) != row:
                        return True
    return False
