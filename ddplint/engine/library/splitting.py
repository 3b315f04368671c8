"""What other libraries draw at random from data: folds, shuffled rows, samples of a table."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.calls import opaque_call
from ddplint.engine.library.randomness import drawn
from ddplint.engine.library.registry import first_argument, handles, path_text, place_of
from ddplint.engine.machine import Machine
from ddplint.engine.ordering import shares
from ddplint.engine.values import Atom, Lib, Obj, Sym, Value, blend, one

ROWS = "rows of a data set of datasets"
"""In what a value is made of: it comes from a data set of Hugging Face's ``datasets`` that is held in memory."""
GRAPHS = "graphs of a data set of torch_geometric"
"""The same of a data set of PyTorch Geometric."""
TABLE = "rows of a table of pandas"
"""The same of a table of pandas."""


@handles("sklearn.model_selection.train_test_split")
def _train_test_split(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    result = blend(name, args.all(), opaque=False)
    if not _is_false(args.keywords.get("shuffle")):
        state = args.get(None, "random_state")
        result = _drawn(m, result, "train_test_split", state, first_argument(args), node, "'random_state=0'")
    return one(result)


@handles("sklearn.utils.shuffle")
def _shuffled(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    result = blend(name, args.all(), opaque=False)
    state = args.get(None, "random_state")
    return one(_drawn(m, result, name, state, first_argument(args), node, "'random_state=0'"))


_ALWAYS_SHUFFLE = frozenset(
    {"ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit", "RepeatedKFold", "RepeatedStratifiedKFold"}
)


@handles(*(f"sklearn.model_selection.{name}" for name in sorted({*_ALWAYS_SHUFFLE, "KFold", "StratifiedKFold",
                                                                  "GroupKFold", "StratifiedGroupKFold"})))  # fmt: skip
def _splitter(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("splitter", node, Lib(name), args=args))


def splitter_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of one of scikit-learn's splitters."""
    assert isinstance(me.cls, Lib)
    made: Arguments = me.notes["args"]
    result = blend(f"{me.key}.{name}", args.all(), opaque=False)
    kind = me.cls.name.rpartition(".")[2]
    shuffle = made.keywords.get("shuffle")
    if name == "split" and (kind in _ALWAYS_SHUFFLE or (shuffle is not None and shuffle.constant() is True)):
        state, option = made.get(None, "random_state"), f"'random_state=0' to {kind}"
        result = _drawn(m, result, f"{kind}.split", state, first_argument(args), node, option)
    return one(result)


@handles("datasets.load_dataset", "datasets.load_from_disk")
def _load_dataset(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = blend(f"{name}@{place_of(node)}", args.all(), opaque=False)
    streaming = args.keywords.get("streaming")
    in_memory = (streaming is None or _is_false(streaming)) and not args.more
    return one(replace(made, made_of=made.made_of | {ROWS}) if in_memory else made)


@handles(
    "pandas.DataFrame", "pandas.concat", "pandas.read_csv", "pandas.read_excel", "pandas.read_feather",
    "pandas.read_json", "pandas.read_parquet", "pandas.read_pickle", "pandas.read_table",
)  # fmt: skip
def _table(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if ".read_" in name and node is not None:
        m.record(facts.Load, node, file=path_text(first_argument(args)), how=name)
    made = blend(f"{name}@{place_of(node)}" if name == "pandas.DataFrame" else name, args.all(), opaque=False)
    return one(replace(made, made_of=made.made_of | {TABLE}))


def graphs(name: str, made: Value) -> Value:
    """What a class of the library called ``name`` makes; of one of PyTorch Geometric's data sets, marked so."""
    if not name.startswith("torch_geometric.datasets."):
        return made
    return Value(tuple((case, _with(atom, frozenset({GRAPHS}))) for case, atom in made.alternatives))


def rows_method(m: Machine, me: Sym, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of rows that draws from them; None where it does not."""
    if TABLE in me.made_of and name == "sample" and {"frac", "n", "random_state"} & args.keywords.keys():
        if (repeats := args.keywords.get("replace")) is None or _is_false(repeats):
            state = args.get(None, "random_state")
            return one(_drawn(m, _rows(me, name, args), name, state, one(me), node, "'random_state=0'"))
    if ROWS in me.made_of and name in ("shuffle", "train_test_split"):
        if name == "shuffle" or not _is_false(args.keywords.get("shuffle")):
            seed = args.get(0 if name == "shuffle" else None, "seed")
            if (generator := args.keywords.get("generator")) is not None and generator.constant() is not None:
                seed = generator
            return one(_drawn(m, _rows(me, name, args), name, seed, one(me), node, "'seed=0'"))
    if GRAPHS in me.made_of and name == "shuffle":
        made = _rows(me, name, args)
        return one(replace(made, made_of=made.made_of | drawn(m, name, None, one(me), "torch", node)))
    if ROWS in me.made_of and name in ("shard", "select") and any(value.per_rank for value in args.all()):
        made = _rows(me, name, args)
        return one(replace(made, ranked=True, made_of=made.made_of | shares(made.made_of)))
    return None


@handles("datasets.distributed.split_dataset_by_node")
def _by_node(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    given = opaque_call(m, Lib(name), args, node)
    taken = shares(given.taint) if any(value.per_rank for value in args.all()) else frozenset()
    return Value(tuple((case, _with(atom, taken)) for case, atom in given.alternatives)) if taken else given


def _with(atom: Atom, parts: frozenset[Any]) -> Atom:
    return replace(atom, made_of=atom.made_of | parts) if isinstance(atom, Sym) else atom


def _rows(me: Sym, name: str, args: Arguments) -> Sym:
    made = blend(f"{me.text[:80]}.{name}", args.all() or [one(me)], opaque=me.opaque)
    return replace(made, ranked=me.ranked, made_of=made.made_of | me.made_of)


def _drawn(
    m: Machine, result: Sym, how: str, generator: Value | None, what: Value, node: ast.AST | None, option: str
) -> Sym:
    """The same value, drawn by numpy's generators: what these libraries take where they are given a seed or none."""
    return replace(result, made_of=result.made_of | drawn(m, how, generator, what, "numpy", node, option))


def _is_false(value: Value | None) -> bool:
    return value is not None and value.constant() is False
