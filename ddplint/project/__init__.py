"""The linted project as text: its root, its files, its import graph and its parsed modules.

Nothing is imported or run. A module is known by its absolute real path, never by a dotted name, so that equal names in
sibling folders cannot mix. Every answer is a function of the project's text alone.

``Module`` and ``Project`` are loaded when they are first asked for: the gate has to start without ``ast``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddplint.project.project import Module, Project

__all__ = ["Module", "Project"]


def __getattr__(name: str) -> object:
    """Load ``Module`` or ``Project``; raises ``AttributeError`` for any other name."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ddplint.project import project

    return getattr(project, name)
