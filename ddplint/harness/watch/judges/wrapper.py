"""Whether a saved state dict carries the wrapper's prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.verdict import State, Verdict, summed_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Rank, Run
    from ddplint.harness.watch.source import Source

RULE = "ddp-wrapper-state-dict"


def judge(run: Run, source: Source) -> list[Verdict]:
    """The calls of a wrapper's ``state_dict`` whose result was written, unless a wrapper read it back."""
    parts = []
    read_back = {path for rank in run.ranks for path in _read_back(rank)}
    saves = [(rank, event) for rank in run.ranks for event in rank.of("save") if event.get("tensors", True)]
    for rank, save in saves:
        if save.get("path") in read_back:
            text = f"{save['path']} was loaded into a wrapper again, which needs the keys as they are"
            parts.append(Verdict(RULE, State.CLEAN, text, sites(save), (rank.number,)))
            continue
        judged = list(_judge_save(rank, save))
        if any(part.state is State.FOUND for part in judged) and source.is_read_again(sites(save)):
            text = (
                f"{save['path']} has the wrapper's keys, and the program's text shows that it is read with them; "
                "it was not read in this run"
            )
            judged = [Verdict(RULE, State.CANNOT_JUDGE, text, sites(save), (rank.number,))]
        parts.extend(judged)
    return summed_up(RULE, parts, "no state dict was saved")


def _judge_save(rank: Rank, save: Event) -> Iterator[Verdict]:
    saved_at = place_of(save)
    if save.get("wrapper"):
        text = (
            f"The DistributedDataParallel object itself is written to {save.get('path')}: it can be loaded only in a "
            "process group, and its keys begin with 'module.'. Save model.module.state_dict()."
        )
        yield Verdict(RULE, State.FOUND, text, sites(save), (rank.number,), {"path": save.get("path")})
        return
    entries = [entry for entry in save.get("prefixed") or () if entry.get("model") is not None]
    # Nobody asked the wrapper for what an average of it, say, may be called as well.
    wrapped = [(entry, state) for entry in entries if (state := _state(rank, save, entry)) is not None]
    for entry, state in wrapped:
        keys = entry.get("keys")
        count = len(keys) if isinstance(keys, list) else keys
        at = f" under {entry['at']!r}" if entry.get("at") else ""
        text = (
            f"This state dict is the wrapper's: its {count} keys begin with 'module.' and were written to "
            f"{save.get('path')}{at} at {saved_at}, so the plain model refuses the file, or with strict=False loads "
            "nothing. Save model.module.state_dict()."
        )
        evidence = {"path": save.get("path"), "at": entry.get("at"), "keys": count, "saved_at": saved_at}
        yield Verdict(RULE, State.FOUND, text, sites(state), (rank.number,), evidence)
    if not wrapped:
        text = "no saved state dict has keys that begin with 'module.'"
        yield Verdict(RULE, State.CLEAN, text, sites(save), (rank.number,), {"path": save.get("path")})


def _state(rank: Rank, save: Event, entry: dict[str, object]) -> Event | None:
    """The call that gave the names of a saved entry: the one it names, else the last one before that went over them."""
    calls = [event for event in rank.of("state", "names") if event["t"] <= save["t"]]
    if entry.get("state") is not None:
        return next((event for event in calls if event.get("state") == entry["state"]), None)
    of_model = [event for event in calls if event["model"] == entry["model"]]
    return of_model[-1] if of_model else None


def _read_back(rank: Rank) -> set[str]:
    """The files that this rank loaded into a wrapper, with every key fitting."""
    found: set[str] = set()
    path: str | None = None
    for event in rank.of("load", "load_state"):
        if event["ev"] == "load":
            path = event.get("path")
        elif path is not None and event.get("model") is not None:
            if not event.get("missing") and not event.get("unexpected"):
                found.add(path)
    return found
