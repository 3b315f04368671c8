"""The probe: patches that write down what a watched program does, armed at the start of each of its interpreters.

It changes nothing that the program computes, raises nothing into it, and imports torch only when the program does.
What it writes is in ``events``; the judges read it.

===============  =======================================================================================================
``importing``    acts right after the program has imported a module
``patching``     puts a function round one of torch's, and keeps the probe's own failures out of the program
``writing``      the event file and the numbers of objects
``sites``        where in the program's code something happened
``hashing``      what stands for a row, and for all parameters of a model
``data``         loaders, samplers and what they yield
``draws``        orders that the program draws at random
``wrapper``      the wrapper: its making, its forwards, moves of its parameters, ``no_sync``, reductions
``hooks``        the communication hook that counts reductions
``steps``        backwards and optimizer steps
``states``       state dicts, and what is saved and loaded
``files``        files that are opened for writing, renamed and removed
``process``      process groups, crashes and the end
``collectives``  the program's own collectives
``graphs``       what a backward goes through
``meeting``      where ranks that the program spawns meet
===============  =======================================================================================================
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

from ddplint.harness.watch import events
from ddplint.harness.watch.probe import (
    collectives,
    data,
    draws,
    files,
    importing,
    patching,
    process,
    sites,
    states,
    steps,
    wrapper,
    writing,
)

if TYPE_CHECKING:
    from types import ModuleType

_LAUNCHER = "torch.distributed.run"


def arm() -> None:
    """Observe this process; it never raises. A process that does not import torch is left as it is."""
    if _LAUNCHER in sys.orig_argv:
        return  # it starts the ranks and is none
    if os.environ.get(events.FAKE_CUDA) == "1":
        # The package is on the path only now.
        importlib.import_module("ddplint.harness.watch.fake_cuda")
    importing.after("torch", _observe)
    importing.after("torch._dynamo.eval_frame", patching.leave_to_python)
    importing.after("safetensors.torch", states.observe_safetensors)
    importing.install()


def _observe(torch: ModuleType) -> None:
    """Patch ``torch``, which has just been imported."""
    writing.begin(os.environ[events.EVENTS])
    patching.begin(torch)
    sites.leave_out(os.path.dirname(str(torch.__file__)))
    fake = os.environ.get(events.FAKE_CUDA) == "1"
    if fake:
        fake_cuda = sys.modules["ddplint.harness.watch.fake_cuda"]
        fake_cuda.install(torch)  # beneath the patches, so that they see what the program asked for
    for part in (process, collectives, data, draws, wrapper, steps, states, files):
        patching.attempt(part.__name__.rpartition(".")[2], part.observe, torch)
    writing.emit(
        "start",
        torch=str(torch.__version__),
        fake_cuda=fake,
        argv=sys.orig_argv,
        parent=os.getppid(),
        missing=patching.missing(),
    )
