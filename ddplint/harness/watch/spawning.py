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
    return bool(Program(run(project, path), project).spawns)
