"""What a step of the measured workload costs on each device, and the faults that can be put into it."""

from __future__ import annotations

from dataclasses import dataclass, replace

LOADER = "loader"
BATCH = "batch"
INTERCONNECT = "interconnect"
STRAGGLER = "straggler"
FAULTS = (LOADER, BATCH, INTERCONNECT, STRAGGLER)  # in the order in which causes are looked for

CPU = "cpu"
SIM = "sim"


@dataclass(frozen=True)
class Costs:
    """The size of the network and the time that passes by a clock, in seconds, on top of what is computed."""

    batch: int  # samples of a step, on each rank
    width: int  # of the network's layers
    simulated: bool = False  # whether the exchange of gradients passes by a clock too
    slack: float = 0.0  # by which a process may be late without a loss
    decode: float = 0.0  # of a sample, in the loader
    shared: bool = False  # whether the ranks decode one at a time
    step: float = 0.0  # of a step, whatever its batch
    sample: float = 0.0  # of each sample of it
    update: float = 0.0  # of the optimizer's step
    bucket: float = 0.0  # of the reduction of a gradient bucket among several ranks
    lag: float = 0.0  # of a step, on the last rank of all alone


_DEVICES = {
    CPU: Costs(batch=128, width=512),
    SIM: Costs(
        batch=12,
        width=8,
        simulated=True,
        slack=0.25,
        decode=0.0002,
        step=0.008,
        sample=0.002,
        update=0.001,
        bucket=0.001,
    ),
}


def costs(device: str, fault: str | None = None) -> Costs:
    """What a step costs on ``device``, with ``fault`` put in."""
    sound = _DEVICES[device]
    if fault == LOADER:
        return replace(sound, decode=0.015 / sound.batch, shared=True)
    if fault == BATCH:
        return replace(sound, batch=1, step=0.02)
    if fault == INTERCONNECT:
        return replace(sound, bucket=sound.bucket + 0.02)
    if fault == STRAGGLER:
        return replace(sound, lag=0.02)
    return sound
