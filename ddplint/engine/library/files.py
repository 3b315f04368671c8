"""What is written to files and read from them."""

from __future__ import annotations

import ast
import os
from typing import Any

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.conditions import conjoin
from ddplint.engine.iteration import draw
from ddplint.engine.library.containers import loose_list
from ddplint.engine.library.registry import first_argument, handles, path_text, place_of
from ddplint.engine.machine import Machine
from ddplint.engine.values import NONE, Atom, Const, Lib, Obj, Sym, Value, blend, by_groups, const, one, union

_LONGEST_PATH = 4096


def record_write(m: Machine, how: str, file: Value | None, content: Value | None, node: ast.AST | None) -> Value:
    """Record that ``content`` goes to ``file``; into an open file or a buffer it is added without an event."""
    if file is None or node is None:
        return NONE
    for case, atom in file.within(m.path).alternatives:
        path = conjoin(m.path, (case,))
        if isinstance(atom, Obj) and atom.kind == "file":
            opened = atom.notes.get("save")
            if opened is not None and content is not None:
                opened.content = union([opened.content, content]) if opened.content is not None else content
            continue
        if isinstance(atom, Obj) and atom.kind == "buffer":
            atom.attrs["*"] = content or NONE
            continue
        if _is_nowhere(atom) or _is_locked(m):
            continue
        before, m.path = m.path, path
        m.record(facts.Save, node, how=how, file=path_text(one(atom)), content=content)
        m.path = before
    return NONE


_NO_FILES = frozenset({"os.devnull", "sys.stdout", "sys.stderr", "sys.stdout.buffer", "sys.stderr.buffer"})


def _is_locked(m: Machine) -> bool:
    """Whether ranks come here one by one, so that each finds what the one before it left."""
    return any(entry.kind == "lock" for entry in m.around)


def _is_nowhere(file: Atom) -> bool:
    """Whether what is written there is in no file: thrown away, or printed."""
    return (isinstance(file, Lib) and file.name in _NO_FILES) or (
        isinstance(file, Const) and file.value in ("/dev/null", os.devnull)
    )


@handles("torch.save", "torch.jit.save")
def _torch_save(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return record_write(m, name, args.get(1, "f"), args.get(0, "obj", "m"), node)


@handles("numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt")
def _numpy_save(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return record_write(m, name, args.get(0, "file", "fname"), args.get(1, "arr", "X"), node)


@handles("pickle.dump", "json.dump", "yaml.dump", "yaml.safe_dump", "dill.dump", "joblib.dump", "cPickle.dump")
def _dump(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    stream = args.get(1, "file", "fp", "stream", "filename")
    if stream is None:
        return one(blend(name, args.all(), opaque=False))
    if not any(isinstance(a, Obj) and a.kind in ("file", "buffer") for a in stream.atoms()) and name != "joblib.dump":
        return NONE
    return record_write(m, name, stream, args.get(0, "obj", "data"), node)


@handles("omegaconf.OmegaConf.save")
def _omega(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return record_write(m, name, args.get(1, "f"), None, node)


@handles("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "shutil.copytree", "os.rename", "os.replace")
def _file_copy(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return record_write(m, name, args.get(1, "dst"), None, node)


@handles("os.remove", "os.unlink")
def _file_removed(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return record_write(m, name, args.get(0, "path"), None, node)


@handles("builtins.open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open")
def _open(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    mode = args.get(1, "mode")
    return open_file(m, args.get(0, "file", "filename"), mode, node)


def open_file(m: Machine, file: Value | None, mode: Value | None, node: ast.AST | None) -> Value:
    """``open``: opening to write is a save, opening to read a load."""
    made = m.new("file", node)
    file = path_text(file) if file is not None else None
    literal = mode.constant() if mode is not None else "r"
    if node is not None and file is not None:
        if isinstance(literal, str) and literal[:1] == "w":
            if not _is_locked(m) and not any(_is_nowhere(atom) for atom in file.atoms()):
                made.notes["save"] = m.record(facts.Save, node, how="open", file=file, content=None, opened=True)
        elif isinstance(literal, str) and literal[:1] == "r":
            made.notes["load"] = m.record(facts.Load, node, file=file, how="open")
    return one(made)


@handles("torch.load", "torch.jit.load", "numpy.load", "pickle.load", "json.load", "yaml.safe_load", "yaml.load",
          "yaml.full_load", "toml.load", "tomli.load", "tomllib.load", "hyperpyyaml.load_hyperpyyaml",
          "safetensors.torch.load_file", "joblib.load", "dill.load", "numpy.loadtxt", "numpy.genfromtxt")  # fmt: skip
def _load(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    file = first_argument(args)
    loads: set[Any] = set()
    content: list[Value] = []
    for atom in file.atoms():
        if isinstance(atom, Obj) and atom.kind == "file":
            if (opened := atom.notes.get("load")) is not None:
                loads.add(opened)
        elif isinstance(atom, Obj) and atom.kind == "buffer" and "*" in atom.attrs:
            content.append(atom.attrs["*"])
    if content:
        return union(content)
    if not loads and node is not None:
        placed = args.get(1, "map_location", "device") if name == "torch.load" else None
        loads.add(m.record(facts.Load, node, file=path_text(file), how=name, placed=placed))
    ranked = file.per_rank
    # what such a file holds is data, not settings: the same for all who read it
    opaque = not name.startswith(("torch.load", "numpy."))
    return one(Sym(f"loaded from {file.key}", ranked, False, opaque, frozenset(loads)))


@handles("io.BytesIO", "io.StringIO", "tempfile.TemporaryFile", "tempfile.SpooledTemporaryFile")
def _buffer(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("buffer", node))


@handles("tempfile.NamedTemporaryFile", "tempfile.TemporaryDirectory", "tempfile.mkdtemp", "tempfile.mkstemp",
          "tempfile.gettempdir", "tempfile.mktemp")  # fmt: skip
def _temporary(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("context", node, name="temporary")
    place = one(Sym(f"{name}@{place_of(node)}", ranked=True, opaque=False))
    if name.endswith(("mkdtemp", "gettempdir", "mktemp")):
        return place
    made.notes["entered"] = place
    made.attrs["name"] = place
    made.notes["per_rank"] = True
    return one(made)


@handles("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath")
def _path(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(
        m.new(
            "path",
            node,
            value=one(blend("path", args.all(), opaque=False))
            if len(args.all()) != 1
            else path_text(first_argument(args)),
        )
    )


@handles("os.path.join")
def _join(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return by_groups([path_text(part) for part in args.all()], _joined_path)


def _joined_path(parts: list[Value]) -> Value:
    literals = [part.constant() for part in parts]
    if literals and all(isinstance(literal, str) for literal in literals):
        joined = "/".join(literals)
        if len(joined) <= _LONGEST_PATH:
            return const(joined)
    return one(blend("join", parts))


@handles("os.sep.join", "os.pathsep.join")
def _joined(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(blend(name, [draw(m, value) for value in args.positional], opaque=False))


def file_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of an open file or a buffer."""
    save = me.notes.get("save")
    if name in ("write", "writelines") and save is not None and args.positional:
        save.content = union([save.content, args.positional[0]]) if save.content is not None else args.positional[0]
    if name == "getvalue" and "*" in me.attrs:
        return me.attrs["*"]
    return one(Sym(f"{me.key}.{name}", opaque=False))


def path_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a path."""
    value: Value = me.notes["value"]
    if name in ("write_text", "write_bytes"):
        return record_write(m, f"Path.{name}", value, first_argument(args), node)
    if name == "open":
        return open_file(m, value, args.get(0, "mode"), node)
    if name in ("unlink", "rmdir"):
        return record_write(m, f"Path.{name}", value, None, node)
    if name in ("rename", "replace"):
        return record_write(m, f"Path.{name}", path_text(first_argument(args)), None, node)
    if name in ("mkdir", "touch", "chmod"):
        return NONE
    if name in ("read_text", "read_bytes"):
        if node is not None:
            load = m.record(facts.Load, node, file=value, how=name)
            return one(Sym(f"loaded from {value.key}", value.per_rank, False, True, frozenset({load})))
        return one(Sym("text"))
    if name in ("exists", "is_file", "is_dir"):
        return one(Sym(f"{name} {value.key}", opaque=False))
    if name in ("glob", "iterdir", "rglob"):
        return loose_list(m, node, [one(m.new("path", node, value=one(blend(name, [value]))))])
    return one(m.new("path", me.site, value=one(blend(name, [value, *args.all()]))))


PLAIN_TYPES = frozenset({"builtins.str", "builtins.int", "builtins.float"})
"""Types of options that no text of the command line turns into None."""
