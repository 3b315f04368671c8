"""Train the reference script under torchrun and load what it saved into the plain model."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.harness import launch, scratch
from ddplint.harness.options import count, processes, require_writable, seconds
from ddplint.harness.statuses import HarnessError, Status

if TYPE_CHECKING:
    import argparse

_SCRIPT = Path(__file__).with_name("reference.py")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add this command's options to ``parser``."""
    parser.add_argument("--nproc", type=processes, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--epochs", type=count, default=2, metavar="N", help="passes over the data (default: 2)")
    parser.add_argument(
        "--accum", type=count, default=2, metavar="K", help="micro-batches of an optimizer step (default: 2)"
    )
    parser.add_argument(
        "--checkpoint", type=Path, metavar="FILE", help="where the checkpoint is left (default: a new temporary folder)"
    )
    parser.add_argument("--timeout", type=seconds, default=300.0, metavar="S", help="seconds allowed (default: 300)")


def run(options: argparse.Namespace) -> Status:
    """Train, print what each epoch saw, and check the checkpoint."""
    checkpoint = options.checkpoint or Path(tempfile.mkdtemp(prefix="ddplint-train-"), "checkpoint.pt")
    require_writable(checkpoint)
    arguments = (f"--epochs={options.epochs}", f"--accumulation={options.accum}", f"--checkpoint={checkpoint}")
    print(f"torchrun --standalone --nproc-per-node={options.nproc} {_SCRIPT}", *arguments)
    print(f"A step takes {options.accum} micro-batches at most; without no_sync() each costs a sync.", flush=True)
    program = launch.Program(str(_SCRIPT), arguments, options.nproc, timeout=options.timeout)
    ended = None
    try:
        with scratch.folder() as notes:
            ended = launch.run(program, notes)
    finally:
        done = ended is not None and not ended.timed_out and ended.error is None
        if options.checkpoint is None and not done:
            shutil.rmtree(checkpoint.parent)
    if ended.timed_out:
        raise HarnessError(f"training did not end in {options.timeout:g} seconds", Status.CANNOT_TELL)
    if ended.error is not None:
        raise HarnessError(ended.error)
    if ended.exit_trouble is not None:
        print(f"After all work was done, {ended.exit_trouble}: torch on gloo does so at times.")
    _load(checkpoint)
    print(f"{checkpoint} loads into the plain model.")
    return Status.FINE


def _load(checkpoint: Path) -> None:
    import torch

    from ddplint.harness.reference import build_model

    build_model().load_state_dict(torch.load(checkpoint, weights_only=True))
