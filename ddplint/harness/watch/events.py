"""What the probe writes down: one JSON object a line, one file (``events-PID.jsonl``) a process.

The probe writes and the judges read; both know only this page. A field that could not be told is None or left out,
and a judge that would need it says that it cannot judge.

Common to all events: ``ev`` (the kind), ``t`` (``time.monotonic()``, comparable between processes), ``pid``, ``rank``
(that of the process group; where it never joins one, the one torchrun asked for, or None), ``worker`` (whether the
process is a loader's worker).

``sites`` is where the user's code stood: ``["FILE:LINE", ...]``, innermost first, frames of installed packages and of
this package left out, at most 16. For what is made (``loader``, ``sampler``, ``wrap``) the methods of the object itself
are left out too: the first is the call that makes it, also through a subclass. ``through`` names the packages between
that code and the event, outermost first: [] for ``torch.save``, ``["shutil"]``, ``["hydra", "omegaconf"]``.
``model``, ``loader``, ``sampler``, ``optimizer`` are numbers given per process in order of making (``optimizer``: of
first stepping), so that the same object has the same number on every rank that makes the same objects.

==============  ======================================================================================================
``start``       ``torch`` (version), ``fake_cuda``, ``argv``, ``parent`` (process id); ``missing``: names of patches
                torch did not allow
``init``        ``asked`` (backend), ``backend`` (used), ``world``, ``sites``
``loader``      a ``DataLoader`` was made: ``loader``, ``cls``, ``sampler`` (number or None), ``sampler_cls``,
                ``dataset_cls``, ``length`` (of the data set or None), ``part_of`` (where that is a ``Subset``, the
                length of the whole or None), ``batch_size``, ``workers``, ``iterable``, ``sites``
``sampler``     a sampler was made: ``sampler``, ``cls``, ``distributed`` (derives from ``DistributedSampler``),
                ``shuffle``, ``replicas``, ``sampler_rank``, ``seed``, ``sites``
``draw``        the program itself drew an order: ``op`` (``torch.randperm``, ``random.shuffle``, ...), ``size`` (how
                much there was to order, or None), ``drawn`` (a hash of the order, or of the generator's state before
                it), ``drawer`` (the number of the loader's worker that drew, or None), ``sites``; the first few of
                each place
``set_epoch``   ``sampler``, ``epoch``, ``sites``
``wrap``        a wrapper was made: ``model``, ``cls``, ``parameters`` (count), ``devices``, ``dtypes``,
                ``device_ids``, ``members`` (the ranks of its group), ``sites``
``move``        ``Module.to/cuda/cpu/float/half/double/...`` on a module that shares parameters with a wrapper:
                ``model``, ``reset`` (how many parameters lost their gradient accumulator), ``before``, ``after``
                (lists of ``DEVICE/DTYPE``), ``sites``; one that was found by looking, after ``parameter.data = ...``,
                has ``before`` None and no ``sites``
``batch``       ``loader``, ``number`` (of the pass, from 0), ``index`` (data set indices, mapped through ``Subset``;
                None if not known), ``rows`` (a hash for each row; None if there are none), ``inputs`` (hashes of the
                rows of its first tensor, which a ``forward`` may have too), ``grad`` (whether gradients were on); of a
                batch of more than 1024 rows, the first 1024
``pass_end``    ``loader``, ``number``
``pass_left``   an iteration over a loader was given up before its end: ``loader``, ``number``, ``sites`` (the first is
                the line that left the loop, where a loop was left)
``forward``     a wrapper's forward: ``model``, ``sync`` (``require_backward_grad_sync``), ``grad``, ``training``,
                ``broadcast`` (whether it first sends the buffers of one rank to all), ``rows`` (hashes of the rows of
                the first tensor), ``sites``
``inner``       the wrapped module's forward ran with gradients on, outside the wrapper's: ``model``, ``sites``
``backward``    a backward of a loss ended: ``held`` (the wrappers whose ``require_backward_grad_sync`` is off),
                ``reached`` (the wrappers of which a parameter's gradient has changed; None if not known),
                ``stepping`` (whether an optimizer's step ran it, in a closure), ``sites``; ``backward_begun``:
                ``fresh`` (the wrappers that hold no gradient yet, or zeros alone), ``scaled`` (pairs of a
                ``collective`` of a tensor that it goes through, and how that is used other than in a sum), ``sites``
``sync``        the gradients of a wrapper were reduced, once for all buckets: ``model``
``no_sync``     entered: ``model``, ``taken`` (like ``sites``: where the method was taken from the wrapper, which is
                elsewhere when the bound method is stored; in a context manager of the program's, where that one is
                entered), ``sites`` (of entering); ``no_sync_end``: ``model``
``step``        an optimizer stepped: ``optimizer``, ``models`` (whose parameters it holds), ``digest`` (of each such
                model's parameters, a dict; None if not taken), ``start`` (the same of what they were before the
                step), ``gradients`` (the same of their gradients), ``sites``
``state``       ``state_dict`` of a wrapper was asked for by the program: ``model``, ``state`` (a number), ``sites``
``names``       the program itself went over a wrapper's named parameters, buffers or modules: ``model``, ``sites``
``save``        an object is about to be written: ``via`` (``torch.save``, ...), ``path`` (None if it is no file),
                ``prefixed`` (list of ``{"at", "keys", "of", "model", "state"}``: state dicts in it of which ``keys``
                of the ``of`` keys begin with ``module.``, of which wrapper and which ``state`` event, None if not
                known), ``wrapper`` (a wrapper object is in it), ``tensors`` (a tensor or a module is in it),
                ``through``, ``sites``
``open``        a file was opened for writing by the user's code: ``path``, ``mode``, ``through``, ``sites``; not by
                ``torch.save`` to a path, nor one that ``tempfile`` made, nor caches
``read``        a file was opened for reading by the user's code that was written since this process began, or that is
                not there: ``path``, ``missing``, ``through``, ``sites``
``rename``      ``path``, ``source``, ``through``, ``sites``;  ``remove``: ``path``, ``through``, ``sites``
``load``        ``path``, ``sites``;  ``load_state``: ``model`` (a wrapper, or None for a plain module), ``strict``,
                ``missing``, ``unexpected`` (counts), ``sites``
``collective``  the program itself calls one, and ``collective_end``: it returned: ``op`` (the function's name),
                ``number``, ``members`` (the ranks of its group), ``graph`` (whether an all_reduce wrote into a
                tensor that gradients go through), ``sites``; ``group_end``: the default group is about to be
                destroyed: ``sites``
``message``     the program sends to one rank or receives from it: ``op``, ``sites``
``fault``       the probe itself failed: ``where`` (``MODULE.FUNCTION`` of the probe), ``text``; once for each place
``limit``       so much was written that from here on there is no ``batch``, ``forward``, ``inner``, ``sync``,
                ``backward``, ``step``, ``open``, ``collective`` and ``no_sync`` of this process
``crash``       ``type``, ``text``, ``trace``, ``sites``
``exit``        the process came to its end; without it, it was killed or left by ``os._exit``
``time_up``     written by the launcher, without ``rank``: the program was ended because its time was up
==============  ======================================================================================================
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = "DDPLINT_RUN_EVENTS"  # the folder of the event files; its presence arms the probe
FAKE_CUDA = "DDPLINT_RUN_FAKE_CUDA"  # "1" where CUDA is to be feigned

Event = dict[str, Any]


def time_up() -> Event:
    """The event that the launcher adds when it has ended a program whose time was up."""
    return {"ev": "time_up", "t": time.monotonic(), "pid": 0, "rank": None, "worker": False}


def read(folder: Path) -> list[Event]:
    """All events of a run, by time; a line that was cut off when its process was killed is left out.

    What a process wrote before it joined its group has the rank that it got there.
    """
    found = sorted(_lines(folder), key=lambda event: event["t"])
    ranks = {event["pid"]: event["rank"] for event in found if event["rank"] is not None}
    return [{**event, "rank": ranks.get(event["pid"])} if event["rank"] is None else event for event in found]


def _lines(folder: Path) -> Iterator[Event]:
    for path in sorted(folder.glob("events-*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict) and "t" in event and "rank" in event:
                    yield event
