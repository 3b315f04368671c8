"""The project layer: roots, files, imports, programs, parsed modules."""

from __future__ import annotations

import ast
import gc
import itertools
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ddplint.project import Module, Project
from ddplint.project.files import MAX_BYTES
from ddplint.project.gate import concerned
from ddplint.project.imports import Import, ImportReader
from ddplint.project.roots import find_root
from ddplint.project.walk import scan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WRAP = "from torch.nn.parallel import DistributedDataParallel as DDP\n"


def python_files(root: str) -> list[str]:
    return sorted(path for path, is_link in scan(root) if not is_link)


def lay_out(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write ``files`` below ``root``, which gets a ``.git``, and return its real path."""
    root = Path(os.path.realpath(root))
    (root / ".git").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


class Laid:
    """A project on disk, asked by relative paths."""

    def __init__(self, root: Path, files: Mapping[str, str | bytes], unsaved: Mapping[str, bytes] | None = None):
        self.root = lay_out(root, files)
        self.project = Project(str(self.root), {self.path(name): text for name, text in (unsaved or {}).items()})

    def path(self, name: str) -> str:
        return str(self.root / name)

    def name(self, path: str | None) -> str | None:
        return None if path is None else Path(path).relative_to(self.root).as_posix()

    def names(self, paths: Sequence[str] | frozenset[str]) -> list[str | None]:
        return [self.name(path) for path in paths]

    def resolve(self, importer: str, name: str, level: int = 0) -> str | None:
        return self.name(self.project.resolve(self.path(importer), name, level))

    def imports(self, name: str) -> list[str | None]:
        return self.names(self.project.imports(self.path(name)))

    def dependents(self, name: str) -> list[str | None]:
        return self.names(self.project.dependents(self.path(name)))


def statements(text: str | bytes) -> set[Import]:
    class Everything:
        def __contains__(self, name: object) -> bool:
            return True

    return ImportReader(Everything()).statements(text.encode() if isinstance(text, str) else text)


class TestRoot:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        home = Path(os.path.realpath(tmp_path)) / "user"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        return home

    def test_nearest_git(self, home: Path) -> None:
        (home / "outer/.git").mkdir(parents=True)
        (home / "outer/inner/deep").mkdir(parents=True)
        (home / "outer/inner/.git").write_text("gitdir: elsewhere\n")
        (home / "outer/inner/deep/setup.py").touch()
        assert find_root(str(home / "outer/inner/deep/train.py")) == str(home / "outer/inner")
        assert find_root(str(home / "outer/train.py")) == str(home / "outer")

    @pytest.mark.parametrize("metadata", ["pyproject.toml", "setup.py", "setup.cfg"])
    def test_outermost_packaging_metadata(self, home: Path, metadata: str) -> None:
        (home / "mono/packages/one").mkdir(parents=True)
        (home / "mono" / metadata).touch()
        (home / "mono/packages/one/pyproject.toml").touch()
        assert find_root(str(home / "mono/packages/one/train.py")) == str(home / "mono")

    def test_own_folder(self, home: Path) -> None:
        (home / "a/b").mkdir(parents=True)
        assert find_root(str(home / "a/b/train.py")) == str(home / "a/b")

    def test_own_folder_of_a_package_is_where_it_is_imported_from(self, home: Path) -> None:
        (home / "a/pkg/sub").mkdir(parents=True)
        (home / "a/pkg/__init__.py").touch()
        (home / "a/pkg/sub/__init__.py").touch()
        assert find_root(str(home / "a/pkg/sub/train.py")) == str(home / "a")

    def test_home_is_no_project(self, home: Path) -> None:
        (home / ".git").mkdir()
        (home / "pyproject.toml").touch()
        (home / "a/b").mkdir(parents=True)
        assert find_root(str(home / "a/b/train.py")) == str(home / "a/b")
        assert find_root(str(home / "train.py")) == str(home)

    def test_home_is_not_descended_into(self, home: Path) -> None:
        (home / "a").mkdir()
        (home / "a/train.py").touch()
        (home / "train.py").touch()
        assert list(python_files(str(home))) == [str(home / "train.py")]

    def test_file_system_root(self) -> None:
        assert find_root("/no-such-script.py") == "/"

    def test_through_a_link_and_from_anywhere(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (home / "a/.git").mkdir(parents=True)
        (home / "a/train.py").touch()
        (home / "link.py").symlink_to(home / "a/train.py")
        monkeypatch.chdir(home / "a")
        assert find_root(str(home / "link.py")) == find_root("train.py") == str(home / "a")


class TestWalk:
    def test_what_is_left_out(self, tmp_path: Path) -> None:
        root = lay_out(
            tmp_path,
            {
                "b.py": "",
                "a/x.py": "",
                "a-b/x.py": "",
                "notes.txt": "",
                "a/stub.pyi": "",
                ".hidden/x.py": "",
                "__pycache__/x.py": "",
                "node_modules/x.py": "",
                "lib/python3/site-packages/x.py": "",
                "env/pyvenv.cfg": "",
                "env/bin/x.py": "",
                "build/lib/x.py": "",
                "dist/x.py": "",
                "app/dist/__init__.py": "",
                "x.egg-info/x.py": "",
                "vendored/.git": "gitdir: x",
                "vendored/x.py": "",
                "folder.py/x.py": "",
            },
        )
        (root / "link.py").symlink_to(root / "b.py")
        (root / "linked").symlink_to(root / "a")
        (root / "loop").symlink_to(root)
        names = [Path(path).relative_to(root).as_posix() for path in python_files(str(root))]
        assert names == ["a-b/x.py", "a/x.py", "app/dist/__init__.py", "b.py", "folder.py/x.py"]

    def test_missing_and_unreadable_folders_are_empty(self, tmp_path: Path) -> None:
        assert list(python_files(str(tmp_path / "missing"))) == []

    def test_cap_keeps_what_is_near_the_root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = lay_out(tmp_path, {"a/x.py": "", "a/y.py": "", "z.py": ""})
        monkeypatch.setattr("ddplint.project.walk.MAX_FILES", 2)
        assert list(python_files(str(root))) == [str(root / "a/x.py"), str(root / "z.py")]

    def test_cap_on_entries(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = lay_out(tmp_path / "one", {"a/x.py": "", "b/c/y.py": "", "z.py": ""})
        monkeypatch.setattr("ddplint.project.walk.MAX_ENTRIES", 4)
        assert list(python_files(str(root))) == [str(root / "a/x.py"), str(root / "z.py")]

    def test_four_hundred_levels(self, tmp_path: Path) -> None:
        root = lay_out(tmp_path, {"train.py": WRAP + "import a\n"})
        folder = root
        for _ in range(400):
            folder = folder / "a"
            folder.mkdir()
        (folder / "x.py").write_text("import train\nfrom .y import z\n")
        (folder / "y.py").write_text("import torch\n")
        project = Project(str(root))
        deepest = str(folder / "x.py")
        assert deepest in project.files
        assert project.imports(deepest) == (str(folder / "y.py"), str(root / "train.py"))
        assert project.dependents(str(folder / "y.py")) == (deepest,)
        assert project.resolve(deepest, ".".join("a" * 400) + ".y") == str(folder / "y.py")
        assert concerned([deepest]) == [deepest]

    def test_links_are_reported_not_followed(self, tmp_path: Path) -> None:
        root = lay_out(tmp_path, {"a.py": ""})
        (root / "loop").symlink_to(root)
        assert set(scan(str(root))) == {(str(root / "a.py"), False), (str(root / "loop"), True)}


class TestResolve:
    def test_flat(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"train.py": "", "data.py": "", "dist.py": ""})
        assert laid.resolve("train.py", "data") == "data.py"
        assert laid.resolve("train.py", "data.missing") is None
        assert laid.resolve("train.py", "torch") is None
        assert laid.resolve("train.py", "torch.distributed") is None
        assert laid.resolve("train.py", "dist") == "dist.py"

    def test_package(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"p/__init__.py": "", "p/q/__init__.py": "", "p/q/m.py": "", "p/n.py": "", "t.py": ""})
        assert laid.resolve("t.py", "p") == "p/__init__.py"
        assert laid.resolve("t.py", "p.q.m") == "p/q/m.py"
        assert laid.resolve("p/q/m.py", "", 1) == "p/q/__init__.py"
        assert laid.resolve("p/q/m.py", "n", 2) == "p/n.py"
        assert laid.resolve("p/q/__init__.py", "m", 1) == "p/q/m.py"
        assert laid.resolve("p/q/m.py", "p.n") == "p/n.py"
        assert laid.resolve("p/q/m.py", "t", 3) == "t.py"
        assert laid.resolve("p/q/m.py", "t", 4) is None
        assert laid.resolve("p/q/m.py", "", 9) is None

    def test_submodule(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"p/__init__.py": "", "p/m.py": "", "n/m.py": "", "m.py": ""})
        project = laid.project
        assert laid.name(project.submodule(laid.path("p/__init__.py"), "m")) == "p/m.py"
        assert laid.name(project.submodule(laid.path("n"), "m")) == "n/m.py"
        assert project.submodule(laid.path("m.py"), "m") is None
        assert project.submodule(laid.path("n"), "p") is None
        assert project.submodule(laid.path("n"), "") is None

    @pytest.mark.parametrize("source", ["src", "lib", "python"])
    def test_source_folders(self, tmp_path: Path, source: str) -> None:
        laid = Laid(tmp_path, {f"{source}/p/__init__.py": "", f"{source}/p/m.py": "", "scripts/launch.py": ""})
        assert laid.resolve("scripts/launch.py", "p.m") == f"{source}/p/m.py"
        assert laid.resolve(f"{source}/p/m.py", "p") == f"{source}/p/__init__.py"

    def test_siblings_do_not_see_each_other(self, tmp_path: Path) -> None:
        laid = Laid(
            tmp_path, {"a/train.py": "", "a/utils.py": "", "b/train.py": "", "b/utils.py": "", "c/train.py": ""}
        )
        assert laid.resolve("a/train.py", "utils") == "a/utils.py"
        assert laid.resolve("b/train.py", "utils") == "b/utils.py"
        assert laid.resolve("c/train.py", "utils") is None

    def test_namespace_folder(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"train.py": "", "tools/data/m.py": "", "empty/readme.txt": ""})
        assert laid.resolve("train.py", "tools") == "tools"
        assert laid.resolve("train.py", "tools.data") == "tools/data"
        assert laid.resolve("train.py", "tools.data.m") == "tools/data/m.py"
        assert laid.resolve("train.py", "empty") is None

    def test_file_before_namespace_folder_before_nothing(self, tmp_path: Path) -> None:
        laid = Laid(
            tmp_path,
            {"a/train.py": "", "a/utils/x.txt": "", "a/utils/y.py": "", "utils.py": "", "p.py": "", "p/x.py": ""},
        )
        assert laid.resolve("a/train.py", "utils") == "utils.py"
        assert laid.resolve("a/train.py", "utils.y") == "a/utils/y.py"
        assert laid.resolve("a/train.py", "p") == "p.py"

    def test_farther_place_holds_the_remainder(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"a/train.py": "", "a/utils.py": "", "utils/__init__.py": "", "utils/data.py": ""})
        assert laid.resolve("a/train.py", "utils.data") == "utils/data.py"

    def test_file_named_like_what_it_imports(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"p/__init__.py": "", "p/torch.py": "", "p/logging.py": "", "p/x.py": "", "torch.py": ""})
        assert laid.resolve("torch.py", "torch") is None
        assert laid.resolve("p/torch.py", "torch") is None
        assert laid.resolve("p/x.py", "torch") is None
        assert laid.resolve("p/x.py", "logging") is None
        assert laid.resolve("p/x.py", "torch", 1) == "p/torch.py"

    def test_own_name_farther_up(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"a/utils.py": "", "utils.py": ""})
        assert laid.resolve("a/utils.py", "utils") == "utils.py"
        assert laid.resolve("utils.py", "utils") is None

    def test_installed_names_are_the_projects_only_as_packages_or_beside_a_script(self, tmp_path: Path) -> None:
        files = {"lib/logging.py": "", "torch/x.py": "", "inspect.py": "", "a/t.py": "", "a/abc.py": "", "t.py": ""}
        laid = Laid(tmp_path, files)
        assert laid.resolve("t.py", "logging") is None
        assert laid.resolve("t.py", "torch") is None
        assert laid.resolve("a/t.py", "inspect") is None
        assert laid.resolve("a/t.py", "abc") == "a/abc.py"

    def test_repository_of_a_library(self, tmp_path: Path) -> None:
        files = {"src/transformers/__init__.py": "", "src/transformers/models/x.py": "", "examples/run.py": ""}
        laid = Laid(tmp_path, files)
        assert laid.resolve("examples/run.py", "transformers") == "src/transformers/__init__.py"
        assert laid.resolve("src/transformers/models/x.py", "transformers") == "src/transformers/__init__.py"

    def test_root_is_the_package(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path / "whale", {"__init__.py": "", "a/m.py": "", "b.py": ""})
        assert laid.resolve("a/m.py", "whale") == "__init__.py"
        assert laid.resolve("a/m.py", "whale.b") == "b.py"
        assert laid.resolve("a/m.py", "whale.missing") is None
        assert Laid(tmp_path / "plain", {"b.py": ""}).resolve("b.py", "plain.b") is None

    def test_links(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"a/train.py": "", "common/utils.py": "", "b/model.py": ""})
        (laid.root / "a/model.py").symlink_to("../b/model.py")
        (laid.root / "a/shared").symlink_to("../common")
        (laid.root / "a/broken.py").symlink_to("nowhere.py")
        (laid.root / "a/self.py").symlink_to("self.py")
        (laid.root / "a/outside.py").symlink_to(__file__)
        assert laid.resolve("a/train.py", "model") == "b/model.py"
        assert laid.resolve("a/train.py", "shared.utils") == "common/utils.py"
        assert laid.resolve("a/train.py", "broken") is None
        assert laid.resolve("a/train.py", "self") is None
        assert laid.resolve("a/train.py", "outside") is None

    @pytest.mark.parametrize("name", ["", ".", "..", "a..b", ".a", "a.", "/etc/passwd", "\0", "a/b", "é", "x" * 5000])
    def test_strange_names(self, tmp_path: Path, name: str) -> None:
        laid = Laid(tmp_path, {"a/b.py": "", "t.py": ""})
        assert laid.resolve("t.py", name) is None
        assert laid.resolve("t.py", name, 1) in (None, ".")
        assert laid.project.submodule(laid.path("a"), name) is None


class TestStatements:
    def test_forms(self) -> None:
        text = """
import a, b.c as d ,e
from .f import (g,  # ) and h
    i as j,
    k)
from . import l
from.m import*
from ..n.o import p
if x: import q
try: from r import s; import t
except ImportError: pass
def u():
\timport v
        # import w
from x \\
    import y, \\
        z
from a1 import(b1)
import c1; import d1
"""
        assert statements(text) == {
            Import("a", 0, ()),
            Import("b.c", 0, ()),
            Import("e", 0, ()),
            Import("f", 1, ("g", "i", "k")),
            Import("", 1, ("l",)),
            Import("m", 1, ()),
            Import("n.o", 2, ("p",)),
            Import("q", 0, ()),
            Import("r", 0, ("s",)),
            Import("t", 0, ()),
            Import("v", 0, ()),
            Import("x", 0, ("y", "z")),
            Import("a1", 0, ("b1",)),
            Import("c1", 0, ()),
            Import("d1", 0, ()),
        }

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    def test_line_ends_and_mark(self, newline: str) -> None:
        text = "\ufeffimport a\nfrom b import (\n    c,\n    d)\nimport e".replace("\n", newline)
        assert statements(text) == {Import("a", 0, ()), Import("b", 0, ("c", "d")), Import("e", 0, ())}

    def test_what_is_no_import(self) -> None:
        assert statements("importlib.import_module('a')\nx = 'import'\nimports = [important]\n# import x\n") == set()

    def test_comment_that_ends_in_a_backslash(self) -> None:
        assert statements("# C:\\\nimport a\n") == {Import("a", 0, ())}

    def test_open_parenthesis_hides_nothing_below(self) -> None:
        assert Import("b", 0, ()) in statements("from a import (x\nimport b\n")
        assert Import("b", 0, ()) in statements('"""Words (import\n"""\nimport b\n')

    def test_agrees_with_the_parser_on_the_standard_library(self) -> None:
        folder = Path(os.__file__).parent
        for path in sorted(folder.glob("*.py"))[:80] + sorted((folder / "email").glob("*.py")):
            found = {
                (i.module, i.level, name)
                for i in statements(path.read_bytes())
                for name in (*i.names, *(() if i.names else ("*",)))
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_bytes())
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    assert {(alias.name, 0, "*") for alias in node.names} <= found
                elif isinstance(node, ast.ImportFrom):
                    assert {(node.module or "", node.level, alias.name) for alias in node.names} <= found

    # A quadratic reader takes minutes here.
    @pytest.mark.parametrize(
        "text",
        [
            b"from " + b" " * 500_000 + b"import x",
            b"import a\\\n" * 60_000,
            b"from a import (\n" * 60_000,
            b"import " + b"(" * 500_000,
            b": import " * 60_000,
            b"from a import (" + b"#)\n" * 200_000,
            b"from" + b" ." * 200_000 + b" import x",
        ],
    )
    def test_time_is_bounded(self, text: bytes) -> None:
        statements(text)


class TestImports:
    def test_everything_on_the_way(self, tmp_path: Path) -> None:
        laid = Laid(
            tmp_path,
            {
                "p/__init__.py": "",
                "p/q/__init__.py": "",
                "p/q/m.py": "from . import n\nfrom .n import thing\n",
                "p/q/n.py": "",
                "train.py": "import p.q.m\n",
                "eval.py": "def f():\n    from p import q\n    try:\n        import p.missing\n    except E: pass\n",
                "star.py": "from p.q import *\nimport os, torch\nimport star\n",
            },
        )
        assert laid.imports("train.py") == ["p/__init__.py", "p/q/__init__.py", "p/q/m.py"]
        assert laid.imports("eval.py") == ["p/__init__.py", "p/q/__init__.py"]
        assert laid.imports("star.py") == ["p/__init__.py", "p/q/__init__.py"]
        assert laid.imports("p/q/m.py") == ["p/q/__init__.py", "p/q/n.py"]
        assert laid.imports("missing.py") == []


class TestDependents:
    def test_programs_that_wrap(self, tmp_path: Path) -> None:
        laid = Laid(
            tmp_path,
            {
                "train.py": WRAP + "import data\n",
                "launch.py": "import train\n",
                "plain.py": "import data\nimport other\n",
                "data.py": "import deep\n",
                "deep.py": "",
                "other.py": "",
                "unused.py": "",
            },
        )
        assert laid.names(laid.project.wraps()) == ["train.py"]
        assert laid.dependents("deep.py") == ["launch.py", "train.py"]
        assert laid.dependents("data.py") == ["launch.py", "train.py"]
        assert laid.dependents("train.py") == ["launch.py", "train.py"]
        assert laid.dependents("launch.py") == ["launch.py"]
        for name in ("plain.py", "other.py", "unused.py", "missing.py"):
            assert laid.dependents(name) == []
            assert not laid.project.matters(laid.path(name))
        assert laid.project.matters(laid.path("deep.py"))

    def test_wrap_is_in_another_import_of_the_program(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"main.py": "import a\nimport b\n", "a.py": WRAP, "b.py": ""})
        assert laid.dependents("b.py") == ["main.py"]

    def test_cycles(self, tmp_path: Path) -> None:
        files = {
            "a.py": "import b",
            "b.py": "import c",
            "c.py": "import a\nimport d",
            "d.py": WRAP + "import e",
            "e.py": "",
        }
        laid = Laid(tmp_path, files)
        assert laid.dependents("a.py") == laid.dependents("c.py") == ["a.py", "b.py", "c.py"]
        assert laid.dependents("e.py") == ["a.py", "b.py", "c.py", "d.py"]

    def test_agrees_with_plain_reachability(self, tmp_path: Path) -> None:
        size = 40
        files = {
            f"m{n}.py": (WRAP if n in (7, 30) else "")
            + "".join(f"import m{(n * n + 3 * k) % size}\n" for k in range(n % 3))
            for n in range(size)
        }
        laid = Laid(tmp_path, files)
        project = laid.project

        def closure(path: str) -> set[str]:
            seen, waiting = {path}, [path]
            while waiting:
                for other in project.imports(waiting.pop()):
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
            return seen

        reached = {path: closure(path) for path in project.files}
        for path in project.files:
            expected = tuple(f for f in project.files if path in reached[f] and reached[f] & project.wraps())
            assert project.dependents(path) == expected

    def test_long_chain(self, tmp_path: Path) -> None:
        files = {f"m{n}.py": f"import m{n + 1}\n" for n in range(1500)} | {"m1500.py": WRAP}
        laid = Laid(tmp_path, files)
        assert len(laid.project.dependents(laid.path("m1500.py"))) == 1501

    def test_nothing_without_a_native_wrap(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"train.py": "import lightning\nimport data", "data.py": ""})
        assert laid.project.wraps() == frozenset()
        assert laid.dependents("data.py") == []

    def test_file_outside_the_tree_stands_alone(self, tmp_path: Path) -> None:
        files = {".ci/a.py": WRAP + "import b", ".ci/b.py": "", ".ci/c.py": "import train", "train.py": WRAP}
        laid = Laid(tmp_path, files)
        assert laid.names(laid.project.wraps()) == ["train.py"]
        assert laid.dependents(".ci/a.py") == [".ci/a.py"]
        assert laid.dependents(".ci/b.py") == []
        assert laid.dependents(".ci/c.py") == [".ci/c.py"]
        assert laid.dependents("train.py") == ["train.py"]

    def test_order_of_questions(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        files = {
            "a/t.py": WRAP + "import u",
            "a/u.py": "",
            "b/t.py": "import u",
            "b/u.py": "from c import *",
            "b/c.py": WRAP,
        }
        names = sorted(files)
        answers: list[object] = []
        for order in (names, names[::-1], names[2:] + names[:2]):
            monkeypatch.chdir(tmp_path if len(answers) == 1 else "/")
            laid = Laid(tmp_path, files)
            asked = {name: (laid.dependents(name), laid.imports(name), laid.resolve(name, "u")) for name in order}
            answers.append([asked[name] for name in names])
        assert answers[0] == answers[1] == answers[2]


class TestModule:
    def test_fields(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"p/__init__.py": "x = 1\n", "p/m.py": ""})
        module = laid.project.module(laid.path("p/__init__.py"))
        assert isinstance(module, Module)
        assert (module.display, module.source, module.is_package) == ("p/__init__.py", b"x = 1\n", True)
        assert isinstance(module.tree, ast.Module)
        assert laid.project.module(laid.path("p/__init__.py")) is module
        other = laid.project.module(laid.path("p/m.py"))
        assert other is not None
        assert not other.is_package

    @pytest.mark.parametrize(
        "text",
        [
            b"\xef\xbb\xbfx = '\xc3\xa9'\r\n",
            b"# coding: latin-1\nx = '\xe9'\n",
            b"#!/usr/bin/python\n# -*- coding: cp1252 -*-\nx = '\xe9'\n",
            b"x = '\\d'\n",
            b"x = 1\x0c\n",
            b"",
        ],
    )
    def test_what_python_reads(self, tmp_path: Path, text: bytes) -> None:
        laid = Laid(tmp_path, {"a.py": text})
        module = laid.project.module(laid.path("a.py"))
        assert module is not None
        if b"'" in text and b"d" not in text[-5:]:
            assert ast.unparse(module.tree) == "x = 'é'"

    @pytest.mark.parametrize(
        "text",
        [
            b"print 'two'\n",
            b"x = '\xe9'\n",
            b"# coding: no-such-codec\n",
            b"# coding: hex\nzz\n",
            b"# coding: utf-16\nx = 1\n",
            b"x = 1\0\n",
            b"\0" * 100,
            b"\xff\xfex\0 \0",
            b"x = " + b"9" * 10_000 + b"\n",
            b"(" * 5000 + b")" * 5000,
            b"x = " + b"-" * 200_000 + b"1\n",
            b"x = 'never closed\n",
            b"\tx = 1\n        y = 2\n",
            b"return\nx =",
        ],
    )
    def test_what_it_does_not(self, tmp_path: Path, text: bytes) -> None:
        laid = Laid(tmp_path, {"a.py": text, "b.py": WRAP + "import a\n"})
        assert laid.project.module(laid.path("a.py")) is None
        assert laid.project.source(laid.path("a.py")) == text
        assert laid.dependents("a.py") == ["b.py"]

    def test_too_large(self, tmp_path: Path) -> None:
        size = MAX_BYTES - len(WRAP)
        laid = Laid(
            tmp_path, {"a.py": WRAP + "#" * size, "b.py": WRAP + "#" * (size + 1)}, {"c.py": b" " * (MAX_BYTES + 1)}
        )
        assert laid.names(laid.project.wraps()) == ["a.py"]
        assert laid.project.module(laid.path("a.py")) is not None
        for name in ("b.py", "c.py"):
            assert laid.project.source(laid.path(name)) is None
            assert laid.project.module(laid.path(name)) is None

    def test_unreadable(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"folder.py/x.py": ""})
        os.mkfifo(laid.path("pipe.py"))
        (laid.root / "loop.py").symlink_to("loop.py")
        for name in ("folder.py", "pipe.py", "loop.py", "missing.py", "nul\0.py"):
            assert laid.project.source(laid.path(name)) is None
            assert laid.project.module(laid.path(name)) is None

    def test_depth_of_the_asking_stack_does_not_count(self, tmp_path: Path) -> None:
        # About 600 levels: fine for the compiler by itself, too deep on top of a deep stack.
        text = "x = " + "+".join(["1"] * 900) + "\n"
        laid = Laid(tmp_path, {"a.py": text})

        def ask(depth: int) -> Module | None:
            return ask(depth - 1) if depth else laid.project.module(laid.path("a.py"))

        limit = sys.getrecursionlimit()
        assert ask(700) is not None
        assert sys.getrecursionlimit() == limit

    def test_no_warning_and_collection_as_it_was(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"a.py": "x = '\\d' is 1\n", "b.py": "x =\n"})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for name in ("a.py", "b.py"):
                laid.project.module(laid.path(name))
                assert gc.isenabled()
        gc.disable()
        try:
            laid.project.module(laid.path("a.py"))
            assert not gc.isenabled()
        finally:
            gc.enable()

    def test_old_modules_are_dropped(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ddplint.project.project._KEPT_SOURCE", 25)
        laid = Laid(tmp_path, {f"{name}.py": "x = 12345\n" for name in "abc"})
        first, second, third = (laid.project.module(laid.path(f"{name}.py")) for name in "abc")
        assert laid.project.module(laid.path("b.py")) is second
        assert laid.project.module(laid.path("c.py")) is third
        again = laid.project.module(laid.path("a.py"))
        assert again is not first
        assert again is not None
        assert first is not None
        assert ast.dump(again.tree) == ast.dump(first.tree)


class TestUnsaved:
    def test_text_overrides_the_disk(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"train.py": "", "data.py": ""}, {"train.py": WRAP.encode() + b"import data\n"})
        assert laid.names(laid.project.wraps()) == ["train.py"]
        assert laid.dependents("data.py") == ["train.py"]
        assert laid.project.source(laid.path("train.py")) == WRAP.encode() + b"import data\n"

    def test_new_file(self, tmp_path: Path) -> None:
        laid = Laid(tmp_path, {"train.py": WRAP + "import new.part"}, {"new/part.py": b"x = 1"})
        assert laid.dependents("new/part.py") == ["train.py"]
        module = laid.project.module(laid.path("new/part.py"))
        assert module is not None
        assert module.source == b"x = 1"

    def test_through_a_link(self, tmp_path: Path) -> None:
        root = lay_out(tmp_path / "real", {"train.py": ""})
        (tmp_path / "link").symlink_to(root)
        project = Project(str(tmp_path / "link"), {str(tmp_path / "link/train.py"): WRAP.encode()})
        assert project.root == str(root)
        assert project.wraps() == {str(root / "train.py")}


class TestMentions:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("save()", True),
            ("x.save", True),
            ("save", True),
            ("saved()", False),
            ("_save()", False),
            ("save2", False),
            ("resave saved save", True),
            ("ésave", False),
            ("", False),
        ],
    )
    def test_whole_words(self, tmp_path: Path, text: str, *, expected: bool) -> None:
        laid = Laid(tmp_path, {"a.py": "", "b.py": text})
        assert laid.project.mentions("save", laid.project.files) is expected
        assert not laid.project.mentions("save", [laid.path("a.py"), laid.path("missing.py")])


class TestGate:
    def test_only_projects_with_a_wrap(self, tmp_path: Path) -> None:
        one = lay_out(tmp_path / "one", {"train.py": WRAP, "sub/data.py": ""})
        two = lay_out(
            tmp_path / "two", {"train.py": "import lightning", "data.py": "", ".ci/x.py": WRAP, ".ci/y.py": ""}
        )
        files = [
            two / "data.py",
            one / "sub/data.py",
            two / ".ci/x.py",
            one / "train.py",
            two / ".ci/y.py",
            two / "train.py",
        ]
        expected = {one / "sub/data.py", one / "train.py", two / ".ci/x.py"}
        for order in itertools.islice(itertools.permutations(files), 0, None, 37):
            assert concerned(map(str, order)) == [str(path) for path in order if path in expected]

    def test_relative_linked_and_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = lay_out(tmp_path / "one", {"train.py": WRAP, "data.py": ""})
        (tmp_path / "link.py").symlink_to(root / "data.py")
        monkeypatch.chdir(root)
        assert concerned(["data.py", "./data.py", str(tmp_path / "link.py")]) == [
            "data.py",
            "./data.py",
            str(tmp_path / "link.py"),
        ]
        folder = tmp_path / "two" / "folder"
        folder.mkdir(parents=True)
        (tmp_path / "two" / ".git").mkdir()
        assert concerned([str(folder / "missing.py"), str(folder)]) == []

    def test_agrees_with_the_project(self, tmp_path: Path) -> None:
        files = {"a/train.py": WRAP, "b.py": "", ".c/x.py": "", ".c/y.py": "import a.train"}
        laid = Laid(tmp_path, files)
        let_through = concerned([laid.path(name) for name in files])
        assert all(laid.path(name) in let_through for name in files if laid.dependents(name))

    @pytest.mark.parametrize(
        ("line", "wraps"),
        [
            ("from torch.nn.parallel import DistributedDataParallel", True),
            ("model = nn.parallel.DistributedDataParallel(model)", True),
            ("kwargs = DistributedDataParallelKwargs(find_unused_parameters=True)", False),
            ("MyDistributedDataParallel = None", False),
            ("x = 1  # wrapped in DistributedDataParallel elsewhere", False),
            ('"""For use with `torch.nn.parallel.DistributedDataParallel`."""', False),
            ("# DistributedDataParallel\nx = [DistributedDataParallel]", True),
        ],
    )
    def test_word(self, tmp_path: Path, line: str, wraps: bool) -> None:
        laid = Laid(tmp_path, {"a.py": line})
        assert concerned([laid.path("a.py")]) == ([laid.path("a.py")] if wraps else [])
        assert laid.dependents("a.py") == (["a.py"] if wraps else [])

    def test_starts_light(self) -> None:
        code = (
            "import sys; before = set(sys.modules)\n"
            "import ddplint.project.gate as gate; gate.concerned([gate.__file__])\n"
            "print(*sorted(set(sys.modules) - before))"
        )
        command = [sys.executable, "-c", code]
        loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        own = {"ddplint", *(f"ddplint.project{name}" for name in ("", ".files", ".gate", ".roots", ".walk"))}
        assert set(loaded) <= own | {"__future__"}


class TestMayWrap:
    """Which programs' names lead to a wrap."""

    HELPERS = (
        WRAP
        + "def parallel(model):\n    return DDP(model)\n\ndef is_parallel(model):\n    return isinstance(model, DDP)\n"
    )

    @pytest.mark.parametrize(
        ("train", "may"),
        [
            ("import helpers\nhelpers.parallel(None)", True),
            ("from helpers import parallel\ndef main():\n    parallel(None)", True),
            ("from helpers import is_parallel\nis_parallel(None)", False),
            ("import helpers  # parallel\nprint('parallel runs are elsewhere')", False),
            ("import helpers\nwrap = getattr(helpers, 'parallel')", True),
        ],
    )
    def test_by_name(self, tmp_path: Path, train: str, may: bool) -> None:
        laid = Laid(tmp_path, {"helpers.py": self.HELPERS, "train.py": train})
        assert laid.project.may_wrap(laid.path("train.py")) is may
        assert laid.project.may_wrap(laid.path("helpers.py"))

    def test_through_modules_that_hand_a_name_on(self, tmp_path: Path) -> None:
        files = {"helpers.py": self.HELPERS, "a.py": "from helpers import parallel", "b.py": "from a import parallel"}
        laid = Laid(
            tmp_path, files | {"c.py": "from b import parallel", "train.py": "from c import parallel\nparallel(1)"}
        )
        assert laid.project.may_wrap(laid.path("train.py"))

    @pytest.mark.parametrize(
        "body",
        [
            "@register\ndef build():\n    return DDP(1)",
            "TABLE = {'ddp': DDP}",
            "class Trainer:\n    def __init__(self):\n        self.model = DDP(1)\n\nTrainer()",
        ],
    )
    def test_what_runs_at_the_import(self, tmp_path: Path, body: str) -> None:
        laid = Laid(tmp_path, {"parts.py": WRAP + body, "train.py": "import parts"})
        assert laid.project.may_wrap(laid.path("train.py"))


def test_unknown_attribute() -> None:
    import ddplint.project

    with pytest.raises(AttributeError):
        _ = ddplint.project.nothing
