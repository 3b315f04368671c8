"""Command lines and the namespaces they are parsed to."""

from __future__ import annotations

import ast
import re
from typing import Any

from ddplint.engine.arguments import Arguments
from ddplint.engine.calls import call_function, opaque_call
from ddplint.engine.library.environment import LOCAL, SINGLES_OUT
from ddplint.engine.library.files import PLAIN_TYPES
from ddplint.engine.library.registry import first_argument, handles
from ddplint.engine.machine import Machine
from ddplint.engine.names import hints_rank
from ddplint.engine.values import NONE, Func, Lib, Obj, Sym, Value, one

_RANK_OPTIONS = {"local_rank": LOCAL, "local_process_index": LOCAL}


def option(m: Machine, namespace: Obj, name: str) -> Value:
    """An attribute of what the command line was parsed to."""
    known: dict[str, Any] = namespace.notes.get("options", {})
    if name in _RANK_OPTIONS:
        return one(_RANK_OPTIONS[name])
    if name in namespace.notes.get("switches", ()):
        m.switches.add(f"option {name} of {namespace.key}")
    if name in namespace.notes.get("switches", ()) and not SINGLES_OUT.search(name):
        return one(Sym(f"option {name} of {namespace.key}"))
    default = known.get(name)
    if (
        isinstance(default, Value)
        and default.constant() not in (None, ...)
        and name in namespace.notes.get("plain", ())
    ):
        m.given_options.add(f"option {name} of {namespace.key}")
    return one(Sym(f"option {name} of {namespace.key}", ranked=hints_rank(name)))


_COMMANDS = re.compile(r"\b(?:command|default|entry_?point)\b")


def is_command(func: Func) -> bool:
    """Whether a decorator makes a command line of the function's parameters."""
    return any(_COMMANDS.search(atom.key) for value in func.decorators for atom in value.atoms())


def command_line(m: Machine, func: Func, node: ast.AST | None) -> Arguments:
    """What a function gets of which a library makes a command: an option for each of its parameters."""
    spec = func.node.args
    names = [parameter.arg for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    switches = {name for name, value in func.defaults.items() if isinstance(value.constant(), bool)}
    made = m.new("namespace", node, options=dict(func.defaults), switches=switches, plain=set(names))
    return Arguments([], {name: option(m, made, name) for name in names})


@handles(
    "fire.Fire",
    "typer.run",
    "tyro.cli",
    "jsonargparse.CLI",
    "jsonargparse.auto_cli",
    "plac.call",
    "defopt.run",
    "clize.run",
    "cyclopts.run",
    "argh.dispatch_command",
)
def _command(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    func = first_argument(args).only
    if isinstance(func, Func) and func.owner is None:
        return call_function(m, func, command_line(m, func, node), node)
    return opaque_call(m, Lib(name), args, node)


@handles("argparse.ArgumentParser", "argparse.Namespace", "types.SimpleNamespace", "configargparse.ArgumentParser")
def _namespace(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if name.endswith("ArgumentParser"):
        return one(m.new("parser", node, options={}))
    made = m.new("namespace", node)
    if name.endswith("SimpleNamespace") and not args.more:
        made.notes["closed"] = True
    for key, value in args.keywords.items():
        made.attrs[key] = value
    for value in args.more:
        for atom in value.atoms():
            if isinstance(atom, Obj):
                for key, inner in atom.attrs.items():
                    if key.startswith("['"):
                        made.attrs[key[2:-2]] = inner
    return one(made)


@handles("builtins.vars")
def _vars(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    atom = first_argument(args).only
    if isinstance(atom, Obj):
        if atom.kind == "namespace":
            made = m.new("dict", node, namespace=atom, owner=atom, loose=True)
            for key, value in atom.attrs.items():
                made.attrs[f"[{key!r}]"] = value
            return one(made)
        return one(atom)
    return first_argument(args)


def parser_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a command line parser."""
    options: dict[str, Any] = me.notes["options"]
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return one(me)
    if name == "add_argument":
        dest = args.keywords.get("dest")
        names = [v.constant() for v in args.positional]
        texts = [n for n in names if isinstance(n, str)]
        long = next((n for n in texts if n.startswith("--")), texts[0] if texts else None)
        key = dest.constant() if dest is not None else (long.lstrip("-").replace("-", "_") if long else None)
        if isinstance(key, str):
            options[key] = args.keywords.get("default")
            convert = args.keywords.get("type")
            if "nargs" not in args.keywords and (convert is None or convert.key in PLAIN_TYPES):
                me.notes.setdefault("plain", set()).add(key)
            action = args.keywords.get("action")
            if action is not None and action.constant() in ("store_true", "store_false"):
                me.notes.setdefault("switches", set()).add(key)
        return NONE
    if name in ("parse_args", "parse_known_args", "parse_intermixed_args"):
        made = me.notes.get("parsed")
        if made is None:
            made = m.new("namespace", node, options=options, switches=me.notes.get("switches", set()))
            made.notes["plain"] = me.notes.get("plain", set())
            me.notes["parsed"] = made
        if name == "parse_known_args":
            pair = m.new("tuple", node)
            pair.attrs["[0]"], pair.attrs["[1]"] = one(made), one(Sym("other arguments"))
            return one(pair)
        return one(made)
    if name == "set_defaults":
        options.update(args.keywords)
        return NONE
    return one(Sym(f"parser.{name}"))
