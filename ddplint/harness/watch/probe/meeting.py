"""Where ranks that a script spawns meet: at a port of this run's own in place of the one that the script fixes.

Two runs of one script would otherwise meet each other, or find the port taken.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from ddplint.harness import guard

if TYPE_CHECKING:
    from collections.abc import Iterator

_TORCHRUN = "TORCHELASTIC_RUN_ID"
_LOCAL = re.compile(r"(tcp://(?:localhost|127\.0\.0\.1|\[::1\])):\d+")


@contextlib.contextmanager
def at_own_port(arguments: list[Any], keywords: dict[str, Any]) -> Iterator[None]:
    """Let ``init_process_group``, called inside with these, meet at this run's port.

    Both are changed where they name the place; the environment's place is changed until this is left.
    """
    port = os.environ.get(guard.PORT)
    if port is None or _TORCHRUN in os.environ:  # which has made its ranks a place
        yield
        return
    if "init_method" in keywords:
        keywords["init_method"] = _moved(keywords["init_method"], port)
    elif len(arguments) > 1:
        arguments[1] = _moved(arguments[1], port)
    asked = os.environ.get("MASTER_PORT")
    if asked is not None:
        os.environ["MASTER_PORT"] = port
    try:
        yield
    finally:
        if asked is not None:
            os.environ["MASTER_PORT"] = asked


def _moved(place: Any, port: str) -> Any:
    return _LOCAL.sub(rf"\g<1>:{port}", place) if isinstance(place, str) else place
