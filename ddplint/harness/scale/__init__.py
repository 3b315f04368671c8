"""Measure how throughput grows with the number of processes, and name the first cause where it falls short.

=============  =======================================================================================================
``measuring``  the built-in training on several ranks, in windows; ``workload`` is that training, ``faults`` what it
               costs and what can be put in, ``clock`` the time that passes without computing
``script``     a script, launched for each size; ``timer`` notes its steps, inside it
``windows``    what both measure, and the rows that are made of it; ``figures`` are medians and intervals
``machine``    the cores, and what others use of them
``verdict``    whether the rows allow a verdict, and which to look at
``causes``     the first cause, by controlled changes
``baseline``   a comparison with an earlier measurement
``report``     the text and the JSON; ``plot`` the picture
=============  =======================================================================================================
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.harness.options import count, processes, require_writable, seconds
from ddplint.harness.scale import baseline, causes, faults, machine, measuring, plot, script, verdict, windows
from ddplint.harness.scale.report import Report, show_report, write
from ddplint.harness.statuses import HarnessError, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS = 0.3  # the shortest window
_WINDOWS = 5  # of each size
_LAUNCHES = 3  # of a script at each size


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add this command's options to ``parser``."""
    parser.usage = "%(prog)s [options] [--script SCRIPT [ARGUMENT ...]]"
    parser.add_argument(
        "--sizes",
        type=_sizes,
        metavar="N,N,...",
        help="numbers of processes, 1 among them (default: 1,2,4 simulated; else 1,2,4,... as there are cores)",
    )
    parser.add_argument(
        "--device",
        choices=(faults.CPU, faults.SIM),
        default=faults.CPU,
        help="what trains: this machine's CPU, or a simulated device whose time passes by a clock (default: cpu)",
    )
    parser.add_argument("--causes", action="store_true", help="name the first cause, by one controlled change each")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save the measurement as a baseline")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="fail on a drop against this saved measurement")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw efficiency and where each step's time goes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--inject", choices=faults.FAULTS, help="put a fault into the built-in training")
    parser.add_argument(
        "--rounds", type=count, metavar="N", help="windows of each size (default: 5), or launches of a script (3)"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=300.0,
        metavar="S",
        help="seconds allowed in all, or for each launch of a script (default: 300)",
    )
    parser.add_argument(
        "--script",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT",
        help="measure this script for torchrun and not the built-in training; all that follows is its own",
    )


def run(options: argparse.Namespace) -> Status:
    """Measure, print the table and the verdict, write what was asked for."""
    cores = machine.cores()
    sizes = options.sizes or _default_sizes(options.device, cores)
    _check(options, sizes)
    earlier = None
    if options.baseline is not None:
        earlier = baseline.read(options.baseline)
        facts = {"device": options.device, "script": options.script or [], "cores": cores, "sizes": list(sizes)}
        baseline.require_equal(earlier, facts)
    report = _measure(options, sizes, cores)
    show_report(report)
    return _conclude(options, report, earlier)


def _check(options: argparse.Namespace, sizes: tuple[int, ...]) -> None:
    """Refuse what cannot be measured or written before anything is started."""
    if options.script is not None:
        for option, given in (("--causes", options.causes), ("--inject", options.inject)):
            if given:
                raise HarnessError(f"{option} changes the training, which a script does not let it: leave it out")
        if options.device == faults.SIM:
            raise HarnessError("a script runs on this machine: leave --device sim out")
        script.check(options.script)
    if options.causes and len(sizes) < 2:
        raise HarnessError("--causes needs a size above 1: --sizes 1,2")
    for path in (options.save, options.plot, options.json):
        if path is not None:
            require_writable(path)


def _measure(options: argparse.Namespace, sizes: tuple[int, ...], cores: int) -> Report:
    simulated = options.device == faults.SIM
    threads = 1 if simulated else max(1, cores // sizes[-1])
    load = machine.Load()
    if options.script is None:
        rounds = options.rounds or _WINDOWS
        plan = measuring.Plan(sizes, rounds, _SECONDS, threads, options.causes, options.timeout)
        measured = measuring.measure(faults.costs(options.device, options.inject), plan)
    else:
        rounds = options.rounds or _LAUNCHES
        measured = script.measure(options.script, sizes, rounds, threads, options.timeout)
    others = load.others()
    rows = windows.rows(measured, sizes)
    return Report(
        device=options.device,
        script=tuple(options.script or ()),
        injected=options.inject,
        cores=cores,
        threads=threads,
        torch=_torch_version(),
        rows=rows,
        refused=verdict.refusals(
            rows,
            cores=None if simulated else cores,
            others=others,
            computes=options.inject is None and options.script is None,
        ),
        readings=causes.readings(causes.trials(measured, sizes[-1])) if options.causes else None,
    )


def _conclude(options: argparse.Namespace, report: Report, earlier: baseline.Baseline | None) -> Status:
    if options.json is not None:
        write(report, options.json)
    if options.plot is not None:
        options.plot.write_text(plot.draw(report), encoding="utf-8")
    if report.refused:
        if options.save is not None:
            print(f"{options.save} is not written: a measurement without a verdict is no baseline.")
        if earlier is not None:
            print(f"Not compared with {earlier.path}.")
        return Status.CANNOT_TELL
    if options.save is not None:
        write(report, options.save)
    dropped = _compare(report, earlier) if earlier is not None else []
    return Status.FOUND if dropped or report.cause is not None else Status.FINE


def _compare(report: Report, earlier: baseline.Baseline) -> list[str]:
    if earlier.torch != report.torch:
        print(f"{earlier.path} was measured with torch {earlier.torch}, this with {report.torch}.")
    dropped = baseline.drops(earlier, report.rows)
    if dropped:
        print(f"Worse than {earlier.path}, beyond the intervals: {'; '.join(dropped)}.")
    else:
        print(f"No worse than {earlier.path}.")
    return dropped


def _torch_version() -> str:
    import torch

    return str(torch.__version__)


def _default_sizes(device: str, cores: int) -> tuple[int, ...]:
    if device == faults.SIM:
        return (1, 2, 4)
    return tuple(size for size in (1, 2, 4, 8, 16, 32, 64) if size <= max(cores, 2))


def _sizes(text: str) -> tuple[int, ...]:
    sizes: Sequence[int] = sorted({processes(part) for part in text.split(",")})
    if sizes[0] != 1:
        raise argparse.ArgumentTypeError("efficiency is measured against one process: 1 has to be among the sizes")
    return tuple(sizes)
