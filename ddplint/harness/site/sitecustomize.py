"""Runs at the start of every interpreter of a launched program, before the program's own code.

Its folder is put first on ``PYTHONPATH``. It guards the process, arms the probe or the timer where the launch asks for
one, and then hands on to the ``sitecustomize`` it stands in front of, if there is one.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _hand_on() -> None:
    """Run the next ``sitecustomize`` on the path, as the interpreter would have done without this one."""
    import importlib.machinery
    import importlib.util

    paths = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def _arm() -> None:
    if "DDPLINT_RUN_FOLDER" not in os.environ or "multiprocessing.resource_tracker" in " ".join(sys.orig_argv):
        return  # the tracker has to outlive its parent: it removes what that one leaves in shared memory
    # The package is found by its place and not by name: the program may run where it is not on the path.
    root = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
    sys.path.append(root)
    import importlib

    try:
        from ddplint.harness import guard

        guard.arm()
        if "DDPLINT_RUN_EVENTS" in os.environ:
            importlib.import_module("ddplint.harness.watch.probe").arm()
        elif "DDPLINT_RUN_TIMES" in os.environ:
            importlib.import_module("ddplint.harness.scale.timer").arm()
    finally:
        sys.path.remove(root)


_arm()
_hand_on()
