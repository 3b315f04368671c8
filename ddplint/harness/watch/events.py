"""What the probe writes down: one JSON object a line, one file (``events-PID.jsonl``) a process.

The probe writes and the judges read; both know only this page. A field that could not be told is None or left out,
and a judge that would need it says that it cannot judge.

Common to all events: ``ev`` (the kind), ``t`` (``time.monotonic()``, comparable between processes), ``pid``, ``rank``
(None outside a process group), ``worker`` (whether the process is a loader's worker).

``sites`` is where the user's code stood: ``["FILE:LINE", ...]``, innermost first, frames of installed packages and of
this package left out, at most 16. ``model``, ``loader``, ``sampler``, ``optimizer`` are numbers given per process in
order of making, so that the same object has the same number on every rank that makes the same objects.

==============  ======================================================================================================
``start``       ``torch`` (version), ``fake_cuda``, ``argv``; ``missing``: names of patches torch did not allow
``init``        ``asked`` (backend), ``backend`` (used), ``world``
``loader``      a ``DataLoader`` was made: ``loader``, ``cls``, ``sampler`` (number or None), ``sampler_cls``,
                ``dataset_cls``, ``length`` (of the data set or None), ``batch_size``, ``workers``, ``iterable``,
                ``sites``
``sampler``     a sampler was made: ``sampler``, ``cls``, ``distributed`` (derives from ``DistributedSampler``),
                ``shuffle``, ``replicas``, ``sampler_rank``, ``sites``
``set_epoch``   ``sampler``, ``epoch``, ``sites``
``wrap``        a wrapper was made: ``model``, ``cls``, ``parameters`` (count), ``devices``, ``dtypes``,
                ``device_ids``, ``sites``
``move``        ``Module.to/cuda/cpu/float/half/double/...`` on a module that shares parameters with a wrapper:
                ``model``, ``reset`` (how many parameters lost their gradient accumulator), ``before``, ``after``
                (device and dtype names), ``sites``
``pass_start``  an iteration over a loader began: ``loader``, ``number`` (from 0), ``sites``
``batch``       ``loader``, ``number`` (of the pass), ``index`` (data set indices, mapped through ``Subset``; None if
                not known), ``rows`` (a hash for each row), ``grad`` (whether gradients were on)
``pass_end``    ``loader``, ``number``
``forward``     a wrapper's forward: ``model``, ``sync`` (``require_backward_grad_sync``), ``grad``, ``training``,
                ``rows`` (hashes of the rows of the first tensor), ``sites``
``inner``       the wrapped module's forward ran with gradients on, outside the wrapper's: ``model``, ``sites``
``backward``    a backward of a loss ended: ``sites``
``sync``        the gradients of a wrapper were reduced, once for all buckets: ``model``
``no_sync``     entered: ``model``, ``sites``; ``no_sync_end``: ``model``
``step``        an optimizer stepped: ``optimizer``, ``models`` (whose parameters it holds), ``digest`` (of each such
                model's parameters, a dict; None if not taken), ``sites``
``state``       ``state_dict`` of a wrapper was asked for by the program: ``model``, ``state`` (a number), ``sites``
``save``        an object was written: ``via`` (``torch.save``, ...), ``path``, ``prefixed`` (list of ``{"at", "keys",
                "model", "state"}``: state dicts in it whose keys begin with ``module.``), ``wrapper`` (a wrapper
                object is in it), ``sites``
``open``        a file was opened for writing by the user's code: ``path``, ``mode``, ``sites``
``rename``      ``path``, ``source``, ``sites``;  ``remove``: ``path``, ``sites``
``load``        ``path``, ``sites``;  ``load_state``: ``model`` (a wrapper, or None for a plain module), ``strict``,
                ``missing``, ``unexpected`` (counts), ``sites``
``hook``        the program registered a communication hook of its own: ``model``, ``sites``
``crash``       ``type``, ``text``, ``trace``, ``sites``
``exit``        the process came to its end; without it, it was killed or left by ``os._exit``
==============  ======================================================================================================
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = "DDPLINT_RUN_EVENTS"  # the folder of the event files; its presence arms the probe
FAKE_CUDA = "DDPLINT_RUN_FAKE_CUDA"  # "1" where CUDA is to be feigned

Event = dict[str, Any]


def read(folder: Path) -> list[Event]:
    """All events of a run, by time; a line that was cut off when its process was killed is left out."""
    return sorted(_lines(folder), key=lambda event: event["t"])


def _lines(folder: Path) -> Iterator[Event]:
    for path in sorted(folder.glob("events-*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict) and "t" in event and "ev" in event:
                    yield event
