"""Time that passes without computing: a device, a decoder and a network that are only simulated.

An activity ends a given time after the one before it, also when the process got its processor a little late: a real
device works off a queue, and the process that fills the queue is ahead of it. So the simulated times come out the same
on a busy machine. What is late by more than the slack is lost, as on a device whose queue has run empty.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.sharedctypes
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.synchronize import Lock, Semaphore


class Shared:
    """What the clocks of forked ranks have in common; made before the fork, for ``most`` ranks."""

    def __init__(self, most: int) -> None:
        context = multiprocessing.get_context("fork")
        self.decoder: Lock = context.Lock()
        self.decoded = multiprocessing.sharedctypes.RawValue("d", 0.0)
        # Two sets in turn: a rank may come to the next meeting while another has still to leave this one, but it
        # cannot be two ahead.
        self.arrivals: list[list[Semaphore]] = [[context.Semaphore(0) for _ in range(most)] for _ in range(2)]
        self.times = [multiprocessing.sharedctypes.RawArray("d", most) for _ in range(2)]


class Clock:
    """The simulated time of ``rank`` among ``size``; ``slack`` is in seconds.

    ``until`` is when, by ``time.monotonic()``, the last activity ended; ``lost`` are the seconds by which the process
    was late beyond the slack, in all.
    """

    def __init__(self, shared: Shared, rank: int, size: int, slack: float) -> None:
        self._shared, self._rank, self._size, self._slack = shared, rank, size, slack
        self.until = 0.0
        self.lost = 0.0
        self._meetings = 0

    def resume(self) -> None:
        """Go on from now, after a time in which the rank had nothing to do."""
        self.until = time.monotonic()

    def spend(self, seconds: float) -> None:
        """Let an activity of this rank last ``seconds``."""
        if seconds > 0:
            self.until = self._start() + seconds
            self._sleep()

    def decode(self, seconds: float) -> None:
        """Let the decoder that all ranks share work ``seconds`` for this one, after those that asked before."""
        decoded = self._shared.decoded
        with self._shared.decoder:
            decoded.value = max(self._start(), decoded.value) + seconds
            self.until = decoded.value
        self._sleep()

    def meet(self) -> None:
        """Wait for all ranks; they leave together, at the simulated time of the last.

        It takes one wake-up. An all-reduce of gloo takes several, of two threads each, and every one of them waits for
        a processor of a busy machine: 2 to 10 milliseconds in all.
        """
        turn = self._meetings % 2
        self._meetings += 1
        arrivals, times = self._shared.arrivals[turn], self._shared.times[turn]
        times[self._rank] = self._start()
        others = [other for other in range(self._size) if other != self._rank]
        for other in others:
            arrivals[other].release()
        for _ in others:
            arrivals[self._rank].acquire()
        self.until = max(times[: self._size])

    def _start(self) -> float:
        late = time.monotonic() - self._slack - self.until
        if late > 0:
            self.lost += late
            self.until += late
        return self.until

    def _sleep(self) -> None:
        remaining = self.until - time.monotonic()
        if remaining > 0:
            time.sleep(remaining)
