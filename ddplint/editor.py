"""ddplint in python-lsp-server, which loads this module: findings while the text is edited.

The text of every open document counts, saved or not.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from typing import TYPE_CHECKING, Any

from pylsp import hookimpl, lsp, uris
from pylsp.workspace import Document

from ddplint import front
from ddplint.evidence import finding_of
from ddplint.linter import decoded
from ddplint.project.files import read
from ddplint.project.roots import find_root
from ddplint.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pylint.message import Message
    from pylsp.config.config import Config
    from pylsp.workspace import Workspace

    from ddplint.findings import Related

_SOURCE = "ddplint"
_LINE_END = re.compile(r"\r\n|\r|\n")

_log = logging.getLogger(__name__)
_sessions: dict[str, Session] = {}
_turn = threading.Lock()
"""The server checks each document in a thread of its own."""


@hookimpl
def pylsp_settings() -> dict[str, Any]:
    """What the server takes for this plugin's settings until it is told others."""
    return {"plugins": {_SOURCE: {"enabled": True}}}


@hookimpl
def pylsp_lint(config: Config, workspace: Workspace, document: Document) -> list[dict[str, Any]]:
    """The diagnostics of ``document``; none, and a line in the log, where ddplint fails."""
    try:
        if not document.uri.startswith("file:"):
            return []
        texts = {other.path: _clean(other.source) for other in _open_documents(workspace)}
        texts.setdefault(document.path, _clean(document.source))
        folder = workspace.root_path or find_root(document.path)
        with _turn:
            if folder not in _sessions:
                _sessions[folder] = Session(folder, _say)
            messages = _sessions[folder].messages(document.path, texts)
        related = _takes_related(config)
        return [_diagnostic(message, document.path, texts, with_related=related) for message in messages]
    except Exception as error:  # noqa: BLE001 - the server and its other plugins go on
        _say(front.explained(error)[0])
        return []


def _say(line: str) -> None:
    _log.error("ddplint: %s", line)


def _open_documents(workspace: Workspace) -> list[Document]:
    """The files that are open; neither notebooks nor what has no name yet."""
    documents = list(workspace.documents.values())  # all at once: another thread may open one
    return [each for each in documents if isinstance(each, Document) and each.uri.startswith("file:")]


def _clean(text: str) -> str:
    """``text`` with a question mark for each half of a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _takes_related(config: Config) -> bool:
    diagnostics = config.capabilities.get("textDocument", {}).get("publishDiagnostics", {})
    return bool(diagnostics.get("relatedInformation"))


def _diagnostic(message: Message, path: str, texts: Mapping[str, str], *, with_related: bool) -> dict[str, Any]:
    end = message.end_line or message.line, message.end_column or message.column
    diagnostic = {
        "source": _SOURCE,
        "range": _range(_lines(path, texts), message.line, message.column, *end),
        "message": message.msg,
        "severity": lsp.DiagnosticSeverity.Warning,
        "code": f"{message.msg_id}:{message.symbol}",
    }
    finding = finding_of(message)
    if with_related and finding is not None and finding.related:
        diagnostic["relatedInformation"] = [_related(other, texts) for other in finding.related]
    return diagnostic


def _related(other: Related, texts: Mapping[str, str]) -> dict[str, Any]:
    # As the editor calls the file, if it is open there.
    path = next((name for name in texts if os.path.realpath(name) == other.path), other.path)
    span = other.span
    place = _range(_lines(path, texts), span.line, span.column, span.end_line, span.end_column)
    uri = uris.from_fs_path(path)  # type: ignore[no-untyped-call]
    return {"location": {"uri": uri, "range": place}, "message": other.text}


def _lines(path: str, texts: Mapping[str, str]) -> list[str]:
    return _LINE_END.split(texts[path] if path in texts else decoded(read(path) or b""))


def _range(lines: list[str], line: int, column: int, end_line: int, end_column: int) -> dict[str, dict[str, int]]:
    return {"start": _position(lines, line, column), "end": _position(lines, end_line, end_column)}


def _position(lines: list[str], line: int, column: int) -> dict[str, int]:
    """A place as the protocol counts: lines from 0, columns in UTF-16's units."""
    before = lines[line - 1][:column] if line <= len(lines) else ""
    return {"line": line - 1, "character": len(before.encode("utf-16-le")) // 2}
