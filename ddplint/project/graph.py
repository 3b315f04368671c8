"""Who imports whom, and which files belong to a program that wraps."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_KEPT_ANSWERS = 256


class Graph:
    """The import graph of a project's files.

    A *program* is a file from which a wrap is reached along imports; a file *matters* if a program reaches it.
    """

    def __init__(self, files: Sequence[str], imports: Callable[[str], Iterable[str]], wraps: Iterable[str]) -> None:
        """``files`` are sorted; ``imports`` gives the files among them that one imports."""
        self._files = files
        self.imports = forward = {path: tuple(imports(path)) for path in files}
        backward = _reversed(forward)
        self.programs = _reachable(wraps, backward)
        self.matters = _reachable(self.programs, forward)
        self._components = _components(sorted(self.matters), forward)
        self._programs_of = self._ancestors(forward)
        self._answers: dict[int, tuple[str, ...]] = {}

    def dependents(self, path: str) -> tuple[str, ...]:
        """The programs that reach the file ``path``, sorted; none if it does not matter."""
        if path not in self.matters:
            return ()
        bits = self._programs_of[self._components[path]]
        if bits not in self._answers:
            if len(self._answers) == _KEPT_ANSWERS:
                self._answers.clear()
            marks = reversed(f"{bits:b}")
            self._answers[bits] = tuple(self._files[index] for index, mark in enumerate(marks) if mark == "1")
        return self._answers[bits]

    def _ancestors(self, forward: Mapping[str, Iterable[str]]) -> list[int]:
        """For each component, the programs that reach it, as bits in the order of the files."""
        bits = [0] * (max(self._components.values(), default=-1) + 1)
        members: list[list[str]] = [[] for _ in bits]
        for index, path in enumerate(self._files):
            if path in self.matters:
                component = self._components[path]
                members[component].append(path)
                if path in self.programs:
                    bits[component] |= 1 << index
        # A component is numbered after those it imports: the importers' answers come first.
        for component in reversed(range(len(bits))):
            for path in members[component]:
                for imported in forward[path]:
                    bits[self._components[imported]] |= bits[component]
        return bits


def _reversed(forward: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    backward: dict[str, list[str]] = {path: [] for path in forward}
    for path, imported in forward.items():
        for other in imported:
            backward[other].append(path)
    return backward


def _reachable(start: Iterable[str], edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    seen = set(start)
    waiting = list(seen)
    while waiting:
        for other in edges[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return frozenset(seen)


def _components(nodes: Iterable[str], edges: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The strongly connected component of each node, numbered from the leaves up (Kosaraju's algorithm)."""
    component: dict[str, int] = {}
    last_first = _finished(nodes, edges)[::-1]
    backward = _reversed({node: edges[node] for node in last_first})
    count = len(last_first)
    for start in last_first:
        if start in component:
            continue
        count -= 1
        component[start] = count
        waiting = [start]
        while waiting:
            for other in backward[waiting.pop()]:
                if other not in component:
                    component[other] = count
                    waiting.append(other)
    return component


def _finished(nodes: Iterable[str], edges: Mapping[str, Sequence[str]]) -> list[str]:
    """The nodes in the order in which a depth-first search leaves them."""
    seen: set[str] = set()
    left: list[str] = []
    for start in nodes:
        if start in seen:
            continue
        seen.add(start)
        work = [(start, iter(edges[start]))]
        while work:
            node, following = work[-1]
            for other in following:
                if other not in seen:
                    seen.add(other)
                    work.append((other, iter(edges[other])))
                    break
            else:
                work.pop()
                left.append(node)
    return left
