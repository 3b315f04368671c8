"""Whether a script starts its ranks itself."""

from __future__ import annotations

import os

from ddplint.engine.program import run
from ddplint.engine.questions import Program
from ddplint.project import Project
from ddplint.project.roots import find_root


def spawns(script: str) -> bool:
    """Whether the program of ``script`` starts processes as ranks, as far as the linter can follow it."""
    path = os.path.realpath(script)
    project = Project(find_root(path), {})
    try:
        return bool(Program(run(project, path), project).spawns)
    except Exception:  # noqa: BLE001  # what the linter cannot follow can be run all the same
        return False
