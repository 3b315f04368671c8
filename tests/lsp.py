"""A client of a language server: what an editor sends and waits for."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

_PATIENCE = 60
CAPABILITIES = {"textDocument": {"publishDiagnostics": {"relatedInformation": True}}}


class Server:
    """python-lsp-server in a process of its own, started by an editor that has ``root`` open."""

    def __init__(
        self,
        root: Path,
        settings: dict[str, Any] | None = None,
        *,
        cwd: Path | None = None,
        capabilities: dict[str, Any] = CAPABILITIES,
        log: Path,
    ) -> None:
        """``settings`` are those of the plugins; ``log`` is the file for what the server logs."""
        self._log = log
        command = [sys.executable, "-m", "pylsp", "--log-file", str(log)]
        self._process = subprocess.Popen(command, cwd=cwd or root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._received: queue.Queue[dict[str, Any]] = queue.Queue()
        self._published: dict[str, list[dict[str, Any]]] = {}
        self._versions: dict[str, int] = {}
        threading.Thread(target=self._read, daemon=True).start()
        self.initialized = self.request(
            "initialize", processId=None, rootUri=root.as_uri(), capabilities=capabilities, workspaceFolders=None
        )
        self.notify("initialized")
        self.notify("workspace/didChangeConfiguration", settings={"pylsp": {"plugins": settings or {}}})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.request("shutdown")
            self.notify("exit")
            self._process.wait(_PATIENCE)
        else:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    @property
    def log(self) -> str:
        return self._log.read_text()

    def open(self, path: Path, text: str) -> list[dict[str, Any]]:
        self._versions[path.as_uri()] = 1
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        return self._diagnostics(path, "textDocument/didOpen", textDocument=document)

    def change(self, path: Path, text: str) -> list[dict[str, Any]]:
        self._versions[path.as_uri()] += 1
        document = {"uri": path.as_uri(), "version": self._versions[path.as_uri()]}
        return self._diagnostics(path, "textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])

    def save(self, path: Path) -> list[dict[str, Any]]:
        return self._diagnostics(path, "textDocument/didSave", textDocument={"uri": path.as_uri()})

    def close(self, path: Path) -> list[dict[str, Any]]:
        return self._diagnostics(path, "textDocument/didClose", textDocument={"uri": path.as_uri()})

    def notify(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, **params: Any) -> Any:
        self._send({"id": 1, "method": method, "params": params})
        return self._wait(lambda message: message.get("id") == 1)["result"]

    def _diagnostics(self, path: Path, method: str, **params: Any) -> list[dict[str, Any]]:
        """What the server publishes for a file in answer to a notification."""
        self.notify(method, **params)

        def is_answer(message: dict[str, Any]) -> bool:
            return message.get("method") == "textDocument/publishDiagnostics" and (
                message["params"]["uri"] == path.as_uri()
            )

        found: list[dict[str, Any]] = self._wait(is_answer)["params"]["diagnostics"]
        return found

    def _wait(self, is_it: Any) -> dict[str, Any]:
        while True:
            message = self._received.get(timeout=_PATIENCE)
            if "eof" in message:
                raise AssertionError(f"the server ended: {self.log}")
            if is_it(message):
                return message

    def _send(self, message: dict[str, Any]) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while line := stream.readline():
            name, _, length = line.partition(b": ")
            assert name == b"Content-Length", line  # nothing but the protocol is written there
            while stream.readline().strip():
                pass
            self._received.put(json.loads(stream.read(int(length))))
        self._received.put({"eof": True})
