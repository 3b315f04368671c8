"""Lets a program written for NCCL and CUDA run unmodified on a machine without a GPU, to be judged as on one.

Every tensor stays on the CPU and has a *place*, the GPU it would be on. What the rules look at behaves as on a GPU:

* a parameter that moves to another place after the wrap gets a new gradient accumulator, so that the wrapper's hooks
  are lost; a move to the place where it is changes nothing;
* wrapping a module that is on the CPU with ``device_ids``, or in a group that is NCCL's alone, is refused;
* the program is told that there are GPUs, as many as there are ranks. torch's own code is not: it would use them.

Stand-ins that change no verdict: NCCL is gloo, autocast computes in full precision, ``SyncBatchNorm`` normalizes over
the rank's own batch, compiled code runs uncompiled, streams and events wait for nothing, memory is never in use. The
generators of GPUs are the CPU's, and seeding them does nothing. CUDA graphs and kernels are refused.

======================  ================================================================================================
``feigned.places``      the place of each tensor, the current one, and who asks
``feigned.mode``        tensors: devices in arguments, moves, what ``device`` and ``is_cuda`` answer
``feigned.runtime``     ``torch.cuda`` and ``torch.accelerator``
``feigned.groups``      process groups and the wrapper
``feigned.precision``   autocast, the gradient scaler, generators, ``torch.compile``, ``torch.load``
======================  ================================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_installed: list[ModuleType] = []


def install(torch: ModuleType) -> None:
    """Feign CUDA in this process; to be called once ``torch`` is imported and before anything uses it."""
    if _installed:
        return
    _installed.append(torch)
    from ddplint.harness.watch.feigned import groups, mode, precision, runtime

    runtime.install()
    precision.install()
    groups.install()
    mode.install()
