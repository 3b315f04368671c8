"""What this machine has and what others use of it."""

from __future__ import annotations

import os
import time
from pathlib import Path


def cores() -> int:
    """The processor cores that this process may use."""
    return len(_usable())


class Load:
    """Measures, from its making on, how many cores processes other than this one and its ended children keep busy."""

    def __init__(self) -> None:
        self._before = os.getloadavg()[0]
        self._started = self._now()

    def others(self) -> float:
        """The cores that others kept busy, on average.

        Where the kernel does not tell (outside Linux), the load average from before; later ones would count this
        process's own work too.
        """
        (busy, own, clock), now = self._started, self._now()
        if busy is None or now[0] is None:
            return self._before
        return max(0.0, now[0] - busy - (now[1] - own)) / max(now[2] - clock, 1e-9)

    @staticmethod
    def _now() -> tuple[float | None, float, float]:
        """Seconds the usable cores were busy, seconds this process and its ended children ran, the clock."""
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        return _busy(), own, time.monotonic()


def _usable() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _busy() -> float | None:
    """Seconds that the usable cores were not idle, those the host took from a virtual machine among them."""
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    names = {f"cpu{core}" for core in _usable()}
    ticks = 0
    for line in lines:
        name, *fields = line.split()
        if name in names:
            user, nice, system, _idle, _waiting, interrupt, soft, steal = map(int, fields[:8])
            ticks += user + nice + system + interrupt + soft + steal
    return ticks / os.sysconf("SC_CLK_TCK")
