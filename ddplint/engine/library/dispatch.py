"""Which stand-in a call or a method of a library goes to."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.calls import call_back, escape, given_parser, may_fill, opaque_call
from ddplint.engine.conditions import ALWAYS, Key, Path, conjoin, fact
from ddplint.engine.gradients import NONLINEAR, by_ranks, compared, distorted, sizes, without_graph
from ddplint.engine.iteration import draw
from ddplint.engine.library.basics import text_method
from ddplint.engine.library.containers import dict_method, entry_value, iterator_method, list_method, loose_list
from ddplint.engine.library.contexts import context_method, decorated, stack_method
from ddplint.engine.library.data import loader_method, sampler_method
from ddplint.engine.library.distributed import COLLECTIVES, MPI_COLLECTIVES, collective
from ddplint.engine.library.environment import environ_method
from ddplint.engine.library.files import file_method, path_method, record_write
from ddplint.engine.library.making import born, initialise
from ddplint.engine.library.metrics import agreed, metric, puts_together, used
from ddplint.engine.library.networks import (
    backward,
    dispatch_method,
    forward,
    is_step,
    library_module,
    load_into,
    module_method,
    optimizer_method,
    reducer_method,
    script_method,
)
from ddplint.engine.library.options import parser_method
from ddplint.engine.library.randomness import may_seed, places, rng_method, seeded_out_of_sight
from ddplint.engine.library.registry import (
    CALLS,
    DATA_ROOTS,
    DIFFERS,
    IN_SIGHT,
    OPTIMIZER,
    WITH_OPTIMIZERS,
    first_argument,
    iterable,
    known_library,
    mark_in_place,
    path_text,
    place_of,
)
from ddplint.engine.library.splitting import graphs, rows_method, splitter_method
from ddplint.engine.library.threads import own_thread_method, queue_method, thread_method
from ddplint.engine.machine import Machine
from ddplint.engine.members import method as project_method
from ddplint.engine.names import DDP, DISTRIBUTED_SAMPLER, MODULE, hints_rank, tells_rank
from ddplint.engine.ordering import drawn_lots, order_kept
from ddplint.engine.overriding import is_of_names, update_names
from ddplint.engine.values import (
    NONE,
    PICKED,
    SENT_HOME,
    TRUE,
    UNSEEN,
    Atom,
    Bound,
    Const,
    Func,
    Lib,
    Obj,
    Super,
    Sym,
    Value,
    blend,
    one,
    under,
    union,
)


def call(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A call of a library's function or class."""
    handler = CALLS.get(name)
    if handler is not None:
        return handler(m, name, args, node)
    root = name.split(".", 1)[0]
    owner, _, last = name.rpartition(".")
    if may_seed(name):
        seeded_out_of_sight(m, node)
    if owner in (DDP, DISTRIBUTED_SAMPLER, MODULE) and args.positional and not last.startswith("__"):
        rest = Arguments(args.positional[1:], args.keywords, args.rest, args.more)
        return m.choose(args.positional[0], lambda me: method(m, me, last, rest, node))
    if name.startswith("torch.distributed.") and last in COLLECTIVES:
        return collective(m, name, args, node)
    if name.startswith("mpi4py.MPI.COMM_WORLD.") and last.lower() in MPI_COLLECTIVES and node is not None:
        m.record(
            facts.Collective, node, name=last, tensors=union(args.positional) if args.positional else NONE, group=None
        )
    if name.startswith("torch.nn.") and last[:1].isupper() and "functional" not in name and "init" not in name:
        return library_module(m, name, args, node)
    if (
        name.startswith(("torch.optim.", "torch.distributed.optim."))
        and last[:1].isupper()
        and "lr_scheduler" not in name
    ):
        return one(m.new("optimizer", node, Lib(name), over=_gone_over(first_argument(args))))
    if root in WITH_OPTIMIZERS and OPTIMIZER.search(last):
        return one(m.new("optimizer", node, Lib(name)))
    if name.startswith(("torchvision.models.", "timm.create_model", "timm.models.")) or last == "from_pretrained":
        made = m.new("module", node, Lib(name))
        born(m, made)
        if last == "from_pretrained" and node is not None and args.positional:
            m.record(facts.Load, node, file=path_text(args.positional[0]), how=last)
        return one(made)
    if last in ("save_file", "save_model") and root == "safetensors":
        return record_write(m, "safetensors", args.get(1, "filename"), args.get(0, "tensors", "model"), node)
    if root == "accelerate" or root in ("lightning", "pytorch_lightning", "deepspeed", "ignite", "horovod", "fabric"):
        escape(m, args, node)
        if (parser := given_parser(args)) is not None:
            return parser
        return one(Sym(f"{name} result", ranked=hints_rank(last), made_of=frozenset({UNSEEN, "framework"})))
    if root not in IN_SIGHT:
        return graphs(name, opaque_call(m, Lib(name), args, node))
    for value in args.all():
        for atom in value.atoms():
            if isinstance(atom, Func | Bound) and last in ("run", "apply", "map", "submit"):
                call_back(m, atom, node)
    if last == "where" and len(args.positional) == 1 and not args.keywords:
        return places(m, name, args, node)
    given = [*args.positional, *(v for k, v in args.keywords.items() if k != "device"), *args.rest, *args.more]
    ranked = any(v.per_rank for v in given) or last in DIFFERS or tells_rank(last)
    result = blend(f"{name}@{place_of(node)}" if last[:1].isupper() else name, args.all(), opaque=False)
    made_of = result.made_of | distorted(result.made_of) if last in NONLINEAR else result.made_of
    if last in _COMPARES:
        made_of = compared(made_of)
    elif last in _CUTS_GRAPH or root == "numpy" or name in _GIVES_NUMBERS:
        made_of = without_graph(made_of)
    kept = frozenset(
        p
        for p in (made_of if last in _JOINS else order_kept(made_of, () if last in _BY_ELEMENTS else given))
        if not isinstance(p, facts.PartOf)
        and not (isinstance(p, Obj) and p.kind == "optimizer")
        and not (root == "re" and isinstance(p, facts.KeyOf))
    )
    if root == "torch" and (last in _PICKS or (last == "where" and len(args.all()) == 1)):
        kept |= {PICKED}
    given_back = Sym(result.text, ranked, False, root not in DATA_ROOTS and result.opaque, kept)
    return one(metric(name, given_back, args))


_BY_ELEMENTS = frozenset({"where", "add", "sub", "subtract", "mul", "multiply", "lerp", "minimum", "maximum", "isin"})
"""Functions that put the elements of several collections together, one by one."""


_JOINS = frozenset({"concatenate", "concat", "cat", "hstack", "vstack", "sum"})
"""Functions that put the elements of a list, which are collections, one after another."""


def _gone_over(value: Value) -> frozenset[Any]:
    """What the elements of something are made of, which ``chain`` or ``filter`` may give."""
    found, left = value.taint, [value]
    while left:
        for atom in left.pop().atoms():
            if isinstance(atom, Obj) and atom.kind == "iterable":
                found |= frozenset[Any]().union(*(source.taint for source in atom.notes["sources"]))
                left += atom.notes["sources"]
    return found


def call_object(m: Machine, thing: Obj, args: Arguments, node: ast.AST | None) -> Value:
    """A call of an object that a library made, or that derives from a library class."""
    match thing.kind:
        case "ddp" | "dp" | "module":
            return forward(m, thing, args, node)
        case "record":
            made = m.new("tuple", node)
            for number, name in enumerate(thing.notes["fields"]):
                value = args.get(number, name)
                if value is not None:
                    made.attrs[f"[{number}]"] = value
                    made.attrs[name] = value
            return one(made)
        case "context":
            if thing.notes.get("name") == "grad" and args.positional:
                return decorated(m, one(thing), args.positional[0])
            return one(thing)
        case "nosyncer":
            return one(m.new("nosync", thing.site, wrapper=thing.notes["wrapper"]))
        case "identity decorator" | "record decorator":
            return first_argument(args)
        case "script":
            return one(blend("script", args.all()))
        case "dispatch":
            return _dispatch(m, thing, args, node)
        case _:
            if (caller := project_method(thing, "__call__")) is not None:
                return m.apply(caller, args, node)
            return opaque_call(m, thing, args, node)


def _dispatch(m: Machine, thing: Obj, args: Arguments, node: ast.AST | None) -> Value:
    """A call of a ``functools.singledispatch`` function: each of its arms may be meant, the first where no other is."""
    from ddplint.engine.calls import call_function

    first, *others = thing.notes["arms"]
    results: list[Value] = []
    arms: list[tuple[Path, Callable[[], None]]] = []
    rest: Path = ALWAYS
    for number, func in enumerate([*others, first]):
        key = Key(f"{first_argument(args).key} goes to arm {number} of {first.key}")
        assumed = conjoin(rest, fact(key, True)) if func is not first else rest

        def run(func: Func = func, assumed: Path = assumed) -> None:
            results.append(under(call_function(m, func, args, node), assumed))

        arms.append((assumed, run))
        rest = conjoin(rest, fact(key, False))
    m.fork(arms)
    return union(results) if results else NONE


def method(m: Machine, me: Atom, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A method of something that is not the project's."""
    if name == "join" and isinstance(me, Const | Sym) and len(args.positional) == 1:
        args = Arguments([*args.positional, draw(m, args.positional[0])])
    match me:
        case Super(_, thing):
            return _super_method(m, thing, name, args, node)
        case Obj():
            return _object_method(m, me, name, args, node)
        case Sym():
            used(m, me, name, node)
            given = _sym_method(m, me, name, args, node)
            return agreed(given) if puts_together(me, name) else given
        case Const(str() as text):
            return text_method(me, text, name, args)
        case _:
            return one(blend(f"{me.key}.{name}", args.all(), opaque=False))


def _super_method(m: Machine, me: Atom, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if not isinstance(me, Obj):
        return one(Sym(f"super.{name}"))
    if name == "__init__":
        if not me.notes.get("initialised"):
            initialise(m, me, args, node)
        return NONE
    if name == "__iter__" and me.kind == "loader":

        def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
            from ddplint.engine.iteration import batch_of

            m.record(facts.Iterate, spot, loader=me, grad=m.grad)
            m.loop(where, lambda turn: body(batch_of(m, me)), over=frozenset({me}))

        return iterable(m, node, drive)
    if name == "__getattr__":
        return one(Sym(f"attribute of {me.key}"))
    return _object_method(m, me, name, args, node)


def _object_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value:
    kind = me.kind
    if name == "update" and kind != "dict" and is_of_names(node):
        for content in args.positional:
            update_names(m, me, content)
        return NONE
    if kind in ("module", "ddp", "dp"):
        found = module_method(m, me, name, args, node)
        if found is not None:
            return found
    handler = _OBJECT_METHODS.get(kind)
    if handler is not None:
        found = handler(m, me, name, args, node)
        if found is not None:
            return found
    if name == "save_pretrained":
        return record_write(m, "save_pretrained", args.get(0, "save_directory"), one(me), node)
    if kind in ("instance", "module", "loader", "sampler") and not known_library(me):
        return opaque_call(m, Bound(me, name, None), args, node)
    result = blend(f"{me.key}.{name}", args.all(), opaque=False)
    ranked = result.ranked or tells_rank(name)
    return one(Sym(result.text, ranked, result.counter, kind in ("instance", "script"), result.made_of))


def _instance_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method that an instance has from a base out of sight; the call itself is left to others (None) if unknown."""
    if name == "set_epoch" and node is not None:
        m.record(facts.SetEpoch, node, sampler=me, epoch=first_argument(args))
    return own_thread_method(m, me, name, node)


_OBJECT_METHODS: dict[str, Callable[..., Value | None]] = {
    "loader": loader_method,
    "thread": thread_method,
    "sampler": sampler_method,
    "optimizer": optimizer_method,
    "reducer": reducer_method,
    "file": file_method,
    "buffer": file_method,
    "path": path_method,
    "parser": parser_method,
    "dict": dict_method,
    "list": list_method,
    "tuple": list_method,
    "set": list_method,
    "iterator": iterator_method,
    "iterable": iterator_method,
    "generator": iterator_method,
    "stack": stack_method,
    "context": context_method,
    "nosync": context_method,
    "environ": environ_method,
    "rng": rng_method,
    "script": script_method,
    "instance": _instance_method,
    "queue": queue_method,
    "dispatch": dispatch_method,
    "splitter": splitter_method,
}


_CUTS = {"replace", "removeprefix", "lstrip", "partition", "split", "sub", "strip", "rsplit", "rpartition"}


_WRITERS = {
    "pandas": frozenset({"to_csv", "to_excel", "to_json", "to_pickle", "to_parquet", "to_feather"}),
}
"""Methods of what a library made that write a file."""


_OF_TEXT = frozenset(
    [
        "format",
        "lower",
        "upper",
        "title",
        "strip",
        "lstrip",
        "rstrip",
        "removeprefix",
        "removesuffix",
        "replace",
        "zfill",
        "encode",
        "decode",
        "split",
        "rsplit",
        "joinpath",
        "with_suffix",
        "with_name",
        "with_stem",
        "expanduser",
        "resolve",
        "absolute",
        "as_posix",
    ]
)
"""Methods of texts and paths: what they give is made of what they are given, and of nothing else."""


_CUTS_GRAPH = frozenset(
    ["detach", "item", "numpy", "tolist", "detach_", "size", "dim", "numel", "type", "requires_grad_", "long", "int",
     "short", "byte", "bool", "argmax", "argmin", "argsort", "nonzero", "new_zeros", "new_ones", "new_full",
     "new_empty", "new_tensor", "arange", "zeros_like", "ones_like", "full_like", "empty_like", "rand_like",
     "randn_like", "randint_like", "one_hot"]
)  # fmt: skip
"""Methods and functions through whose results no gradient comes back."""


_COMPARES = frozenset({"eq", "ne", "gt", "ge", "lt", "le", "isnan", "isinf", "isfinite", "equal", "allclose"})
"""Methods and functions that ask what a tensor holds."""


_SIZES = frozenset({"size", "dim", "numel", "ndimension", "nelement", "element_size"})
"""Methods that tell how large a tensor is, and nothing of what it holds."""


_GIVES_NUMBERS = frozenset({"builtins.complex", "torch.tensor"})


_AS_IT_IS = frozenset(
    ["detach", "cpu", "clone", "contiguous", "to", "cuda", "half", "float", "double", "bfloat16", "type", "numpy",
     "requires_grad_", "detach_"]
)  # fmt: skip
"""Methods of a tensor that give its own numbers."""


def _sym_method(m: Machine, me: Sym, name: str, args: Arguments, node: ast.AST | None) -> Value:
    text = me.text.lower()
    if name == "backward" and node is not None:
        if me.made_of:
            backward(m, node, me.made_of)
        elif args.positional and any(isinstance(p, facts.Forward) for p in args.positional[0].taint):
            if "framework" not in me.made_of:
                backward(m, node, args.positional[0].taint)
        return NONE
    if name == "step" and node is not None and is_step(text, args):
        m.record(facts.Step, node, optimizer=args.positional[0] if args.positional else one(me))
        return one(Sym(f"{me.text[:80]}.step()", opaque=False))
    if name == "load_state_dict" and node is not None:
        load_into(m, m.new("module", node, unseen=me), args, node)
    if name == "save_pretrained":
        return record_write(m, "save_pretrained", args.get(0, "save_directory"), one(me), node)
    if (root := me.text.split(".", 1)[0]) in _WRITERS and name in _WRITERS[root] and "mode" not in args.keywords:
        return record_write(
            m, f"{root} {name}", args.get(0, "fname", "path_or_buf", "excel_writer", "path"), one(me), node
        )
    if (rows := rows_method(m, me, name, args, node)) is not None:
        return rows
    if name == "set_epoch" and node is not None:
        for part in me.made_of:
            if isinstance(part, Obj) and part.kind in ("loader", "sampler"):
                m.record(facts.Escape, node, thing=part)
        return NONE
    states = [part for part in me.made_of if isinstance(part, facts.StateDict)]
    if states and name in ("items", "keys", "values"):
        key = one(Sym(f"key of {me.text}", opaque=False, made_of=frozenset(facts.KeyOf(s) for s in states)))
        part = one(Sym(f"part of {me.text}", opaque=False, made_of=frozenset(facts.PartOf(s) for s in states)))
        return loose_list(m, node, [entry_value(m, name, key, part, node)])
    made_of = me.made_of
    if name == "startswith" and args.positional:
        start = args.positional[0].constant()
        keys = [part for part in made_of if isinstance(part, facts.KeyOf)]
        if (
            keys
            and isinstance(start, str)
            and "module.".startswith(start)
            and all(k.state.module.kind == "ddp" for k in keys)
        ):
            return TRUE
    if name in _CUTS:
        made_of = frozenset(part for part in made_of if not isinstance(part, facts.KeyOf))
    elif name == "cpu":
        made_of |= {SENT_HOME}
    elif name in _SIZES:
        made_of = sizes(made_of)
    elif name in _COMPARES:
        made_of = compared(made_of)
    elif name in _CUTS_GRAPH:
        made_of = without_graph(drawn_lots(made_of) if name == "argsort" else made_of)
    if name not in _AS_IT_IS:
        made_of = frozenset(part for part in made_of if not isinstance(part, facts.PartOf))
    if name == "update":
        for value in args.positional:
            given = value.only
            if isinstance(given, Obj) and given.kind == "dict":
                for at, entry in given.attrs.items():
                    if at.startswith("['"):
                        m.write(m.sym_attrs, f"{me.text}{at}", entry)
        if states:
            return NONE
    if name in ("get", "pop", "copy") and any(isinstance(part, facts.Load) for part in made_of):
        pass  # an entry of what a file holds
    elif me.opaque and name not in _OF_TEXT and not any(isinstance(part, facts.Forward | Obj) for part in made_of):
        return opaque_call(m, Sym(f"{me.text[:80]}.{name}", me.ranked, False, True, made_of), args, node)
    for given in (atom for value in args.all() for atom in value.atoms()):
        if isinstance(given, Func):
            may_fill(given)
    result = blend(f"{me.text[:80]}.{name}", [one(me), *args.all()] if not args.all() else args.all(), opaque=me.opaque)
    more = frozenset(part for value in args.all() for part in value.taint)
    taint = made_of | (without_graph(more) if name in _CUTS_GRAPH | _COMPARES else more)
    cut = distorted(taint)
    if cut and (
        name.rstrip("_") in NONLINEAR or (name in ("div", "div_", "true_divide") and by_ranks(m.trace, args.positional))
    ):
        taint |= cut
        if name == "div_" and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            mark_in_place(m, node.func.value, one(me), cut)
    taint |= {PICKED} if name in _PICKS else frozenset()
    ranked = me.ranked or (result.ranked and name not in _PLACES) or tells_rank(name)
    return one(Sym(result.text, ranked, me.counter and not taint, me.opaque, taint))


_PICKS = frozenset({"nonzero", "argwhere", "masked_select", "unique"})
"""What gives as many elements as the numbers say."""
_PLACES = frozenset({"to", "cuda", "xpu", "npu", "new_tensor", "record_stream"})
"""Methods whose argument says where a tensor lies, not what it holds."""
