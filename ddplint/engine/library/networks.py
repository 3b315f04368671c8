"""Networks, wrappers and optimizers: moves, forwards, backwards, steps, state dicts."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments, exact_elements
from ddplint.engine.calls import call_back, call_function
from ddplint.engine.conditions import Case, Path, conjoin
from ddplint.engine.gradients import of_collectives
from ddplint.engine.library.buffers import look_for_buffers
from ddplint.engine.library.containers import collected, dict_method, entry_value, list_method, loose_list
from ddplint.engine.library.environment import LOCAL
from ddplint.engine.library.files import record_write
from ddplint.engine.library.lookups import DTYPES
from ddplint.engine.library.making import born, calls_of_holders, has_unseen_base, is_of_every_module, wrap
from ddplint.engine.library.outputs import look_at_outputs, parts_of
from ddplint.engine.library.registry import first_argument, handles
from ddplint.engine.machine import Machine
from ddplint.engine.members import method as project_method
from ddplint.engine.names import DATA_PARALLEL, DDP, FSDP
from ddplint.engine.values import NONE, Atom, Bound, Class, Func, Lib, Obj, Sym, Value, blend, const, one, split, union


@handles(DDP)
def _ddp(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("ddp", node, Lib(DDP))
    wrap(m, made, args, node)
    return one(made)


@handles(DATA_PARALLEL, FSDP)
def _other_wrapper(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("dp", node, Lib(name))
    made.attrs["module"] = args.get(0, "module") or one(Sym("module"))
    return one(made)


@handles(
    "torch.compile",
    "torch._dynamo.optimize",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "apex.parallel.convert_syncbn_model",
    "torch.nn.utils.convert_sync_batchnorm",
    "typing.cast",
    "builtins.tuple",
)
def _same(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if name == "typing.cast":
        return args.positional[1] if len(args.positional) > 1 else NONE
    if name == "builtins.tuple":
        return collected(m, name, args, node)
    given = args.get(0, "model", "module")
    return given if given is not None else one(m.new("identity decorator", node))


@handles("torch.nn.consume_prefix_in_state_dict_if_present")
def _strip(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    prefix = args.get(1, "prefix")
    if prefix is None or prefix.constant() in (..., "module."):
        for part in first_argument(args).taint:
            if isinstance(part, facts.StateDict):
                part.stripped = True
    return NONE


@handles("torch.jit.script", "torch.jit.trace", "torch.jit.freeze", "torch.jit.optimize_for_inference")
def _script(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    given = first_argument(args)
    if any(isinstance(a, Func) for a in given.atoms()):
        return given
    made = m.new("script", node, Lib(name))
    made.attrs["inner"] = given
    return one(made)


def library_module(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A module of ``torch.nn``; containers keep their parts."""
    last = name.rsplit(".", 1)[-1]
    if last == "Parameter":
        return one(blend("parameter", args.all(), opaque=False))
    made = m.new("module", node, Lib(name))
    born(m, made)
    if last in ("Sequential", "ModuleList", "ModuleDict"):
        parts = args.positional
        if len(parts) == 1 and (known := exact_elements(parts[0])) is not None:
            parts = known
        elif len(parts) == 1 and isinstance(source := parts[0].only, Obj) and source.kind in ("dict", "list"):
            made.attrs.update(source.attrs)
            if source.notes.get("loose"):
                made.notes["loose"] = True
            parts = []
        for number, part in enumerate(parts):
            made.attrs[f"[{number}]"] = part
    return one(made)


@handles("torch.set_default_device", "torch.set_default_tensor_type")
def _default_device(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    m.write(m.sym_attrs, "default device", first_argument(args))
    return NONE


@handles("apex.amp.initialize")
def _amp(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    models, optimizers = args.get(0, "models"), args.get(1, "optimizers")
    if models is None or optimizers is None or optimizers.constant() is None:
        return models or one(Sym("models"))
    pair = m.new("tuple", node)
    pair.attrs["[0]"], pair.attrs["[1]"] = models, optimizers
    return one(pair)


@handles("torch.device")
def _device(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if len(args.positional) == 1 and not args.keywords:
        given = args.positional[0]
        if isinstance(given.only, Sym) and not given.per_rank:
            return given
    made = blend("device", args.all(), opaque=False)
    device = m.new("device", node, value=made.text)
    index = args.get(1, "index")
    if index is not None:
        device.attrs["index"] = index
    elif made.ranked:
        device.attrs["index"] = one(LOCAL)
    else:
        device.attrs["index"] = NONE
    return one(device)


@handles("torch.autograd.backward")
def _autograd(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if node is not None:
        backward(m, node, first_argument(args).taint | _inside(first_argument(args)))
    return NONE


def _inside(value: Value) -> frozenset[Any]:
    known = exact_elements(value)
    found: frozenset[Any] = frozenset()
    for element in known or []:
        found |= element.taint
    return found


def quiet(m: Machine) -> tuple[tuple[Obj, Path], ...]:
    """The wrappers over which ``no_sync`` holds now, and on which path."""
    return tuple((e.thing, e.path) for e in m.around if e.kind == "nosync" and e.thing is not None)


def hidden(m: Machine) -> bool:
    """Whether a context manager is active of which nobody can see what it does to synchronisation."""
    return any(entry.kind == "hidden" and conjoin(entry.path, m.path) for entry in m.around)


def forward(m: Machine, thing: Obj, args: Arguments, node: ast.AST | None) -> Value:
    """A module is called; what comes out is made of what went in and of this very call."""
    grad = m.grad
    event = None
    if node is not None:
        through = calls_of_holders(m, thing)
        event = m.record(facts.Forward, node, module=thing, grad=grad, quiet=quiet(m), hidden=hidden(m), held=through)
        if thing.kind == "ddp":
            look_for_buffers(m, thing)
    taint: frozenset[Any] = frozenset({event}) if event is not None and grad else frozenset()
    for value in args.all():
        taint |= frozenset(p for p in value.taint if grad or not isinstance(p, facts.Forward))
    for value in args.all():
        taint |= _deep_taint(value)
    gathered = of_collectives(taint)
    if thing.kind == "module" and isinstance(thing.cls, Class) and (gathered or _worth_running(thing)):
        runner = project_method(thing, "forward")
        if runner is not None:
            result = m.apply(runner, args, node)
            # what ranks put together may be kept, and have no part in what is given
            taint = (taint - gathered) | result.taint | _deep_taint(result)
            if any(isinstance(a, Obj) for a in result.atoms()):
                return result
    number = event.index if event is not None else m.fresh()
    wrapped = thing.attrs.get("module") if thing.kind in ("ddp", "dp") else None
    for network in wrapped.atoms() if wrapped is not None else (thing,):
        if isinstance(network, Obj):
            network.notes["left behind"] = taint
    if thing.kind == "ddp" and event is not None and grad:
        inside = _gathered_inside(m, event, args)
        if inside is not None:
            return _with_more(m, inside, f"output {number}", taint)
    return one(Sym(f"output {number}", False, False, False, taint))


def _gathered_inside(m: Machine, event: facts.Forward, args: Arguments) -> Value | None:
    """What the ``forward`` of a wrapped network gives, where that is made of what it gathers from other processes."""
    network = event.module.attrs["module"].only if "module" in event.module.attrs else None
    if not isinstance(network, Obj) or network.kind != "module" or not isinstance(network.cls, Class):
        return None
    runner = project_method(network, "forward") if _speaks_to_others(network.cls) else None
    bound = runner.only if runner is not None else None
    if not isinstance(bound, Bound) or bound.func is None or id(network) in m.forwards:
        return None
    before, m.forwards[id(network)] = m.path, event
    try:
        result = call_function(m, bound.func, args.before(one(network)), event.site.node, network)
    finally:
        del m.forwards[id(network)]
        m.path = before
    return result if of_collectives(result.taint | _deep_taint(result)) else None


def _with_more(m: Machine, value: Value, text: str, more: frozenset[Any]) -> Value:
    """Values under another name, or a flat container of them, with what came out of collectives in each, and more."""

    def of(atom: Atom) -> Atom:
        if isinstance(atom, Obj) and atom.kind in ("tuple", "list", "dict") and not atom.notes.get("loose"):
            made = m.new(atom.kind, atom.site)
            for name, inner in atom.attrs.items():
                gathered = of_collectives(inner.taint | _deep_taint(inner))
                made.attrs[name] = one(Sym(f"{text}{name}", False, False, False, more | gathered))
            return made
        return Sym(text, False, False, False, more | of_collectives(atom.taint | _deep_taint(one(atom))))

    return Value(tuple((case, of(atom)) for case, atom in value.alternatives))


def of_wrapped(m: Machine, thing: Atom, name: str, node: ast.AST | None) -> facts.Forward | None:
    """A method of a network that a wrapper holds is called, from outside of it: None for any other call."""
    wrapped = thing.notes.get("wrapped") if isinstance(thing, Obj) and thing.kind == "module" else None
    if node is None or not isinstance(wrapped, facts.Wrap) or any(frame.me is thing for frame in m.frames):
        return None
    if name.startswith("__") or not any(atom is thing for atom in wrapped.inner.atoms()):
        return None
    assert isinstance(thing, Obj)
    through = calls_of_holders(m, thing)
    event: facts.Forward = m.record(
        facts.Forward, node, module=thing, grad=m.grad, quiet=quiet(m), hidden=hidden(m), method=name, held=through
    )
    return event


def of_part(m: Machine, thing: Atom, name: str, node: ast.AST | None, given: bool) -> facts.Forward | None:
    """A part with parameters, or a method out of sight, of a network that a wrapper holds is called from outside of it.

    None otherwise. ``given``: it is called with arguments. From inside, in a call of the wrapper that is being run, it
    is that call.
    """
    if (running := m.forwards.get(id(thing))) is not None:
        return running
    if isinstance(thing, Sym):
        return of_unseen(m, thing, name, node) if given and not is_of_every_module(name) else None
    cls = thing.cls if isinstance(thing, Obj) else None
    seen = isinstance(cls, Class) and not has_unseen_base(cls)
    if not (isinstance(cls, Class) and name in parts_of(m, cls)) and (seen or not given or is_of_every_module(name)):
        return None
    return of_wrapped(m, thing, name, node)


def of_unseen(m: Machine, network: Sym, name: str, node: ast.AST | None) -> facts.Forward | None:
    """A network of a class out of sight, which a wrapper holds, or a part or method of it is called: None otherwise."""
    inside = next((part for part in network.made_of if isinstance(part, facts.Inside)), None)
    if node is None or inside is None or not f"{network.text}.".startswith(f"{inside.text}."):
        return None
    thing = inside.wrapper.notes.setdefault("inside", m.new("module", inside.wrapper.site))
    event: facts.Forward = m.record(
        facts.Forward, node, module=thing, grad=m.grad, quiet=quiet(m), hidden=hidden(m), method=name
    )
    return event


def made_of(m: Machine, value: Value, event: facts.Forward) -> Value:
    """What a call gave, made of that call too where gradients are recorded."""
    if not event.grad:
        return value
    found: list[tuple[Case, Atom]] = []
    for case, atom in value.alternatives:
        if isinstance(atom, Sym):
            found.append((case, replace(atom, made_of=atom.made_of | {event})))
            continue
        if isinstance(atom, Obj) and atom.kind in ("tuple", "list", "dict"):
            for name, inner in list(atom.attrs.items()):
                if all(isinstance(part, Sym) for part in inner.atoms()):
                    m.write(atom.attrs, name, made_of(m, inner, event))
        found.append((case, atom))
    return Value(tuple(found))


def left_by_forward(m: Machine, thing: Obj, name: str) -> Value | None:
    """What the last call of a network left in an attribute that its ``forward`` sets (its loss, say)."""
    taint = thing.notes.get("left behind")
    if taint is None or not isinstance(thing.cls, Class):
        return None
    runner = thing.cls.lookup("forward")
    for func in runner.atoms() if runner is not None else ():
        if isinstance(func, Func) and _sets(m, func, name, thing.cls, 3):
            return one(Sym(f"{thing.key}.{name}", opaque=False, made_of=taint))
    return None


def _sets(m: Machine, func: Func, name: str, cls: Class, depth: int) -> bool:
    """Whether a function, or one of its class or module that it calls, sets an attribute."""
    called: list[Func] = []
    for node in ast.walk(func.node):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Store()) if attr == name:
                return True
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=base) | ast.Call(func=ast.Name(id=base)), attr=attr)
            ) if depth:
                holder = m.member(func.home, base)
                owner = holder.only if holder is not None else None
                found = (owner if isinstance(owner, Class) else cls).lookup(attr)
            case ast.Call(func=ast.Name(id=callee)) if depth:
                found = m.member(func.home, callee)
            case _:
                continue
        called += [atom for atom in found.atoms() if isinstance(atom, Func)] if found is not None else []
    return any(_sets(m, other, name, cls, depth - 1) for other in called if other is not func)


def load_into(m: Machine, module: Obj, args: Arguments, node: ast.AST) -> None:
    """Record ``module.load_state_dict(...)``."""
    state = first_argument(args)
    made_of = state.taint | _deep_taint(state)
    m.record(facts.LoadInto, node, module=module, made_of=made_of, entry=entry_of_file(state))


def _deep_taint(value: Value, depth: int = 2) -> frozenset[Any]:
    found: frozenset[Any] = frozenset()
    for atom in value.atoms():
        if isinstance(atom, Obj) and atom.kind in ("tuple", "list", "dict") and depth:
            for inner in atom.attrs.values():
                found |= inner.taint | _deep_taint(inner, depth - 1)
    return found


def _worth_running(thing: Obj) -> bool:
    """Whether a module's own ``forward`` can matter: it holds a wrapper or what one wraps, or speaks to others."""
    known = thing.notes.get("worth running")
    if known is None:
        assert isinstance(thing.cls, Class)
        known = _holds_wrapper(thing, 3) or _speaks_to_others(thing.cls)
        thing.notes["worth running"] = known
    return bool(known)


_COLLECTIVE = re.compile(rb"all_gather|all_reduce|gather_features|dist_gather|gather_tensor")


def _speaks_to_others(cls: Class) -> bool:
    """Whether a collective is named in the text of a class."""
    module = cls.home.module
    lines = module.source.split(b"\n")[cls.node.lineno - 1 : cls.node.end_lineno] if module is not None else []
    return any(_COLLECTIVE.search(line) for line in lines)


def _holds_wrapper(thing: Obj, depth: int) -> bool:
    """Whether a wrapper, or a network that a wrapper holds, is among its attributes or theirs."""
    for value in list(thing.attrs.values()):
        for atom in value.atoms():
            if isinstance(atom, Obj):
                if atom.kind == "ddp" or (atom.kind == "module" and "wrapped" in atom.notes):
                    return True
                if (
                    depth
                    and atom.kind in ("module", "list", "dict", "tuple", "instance")
                    and _holds_wrapper(atom, depth - 1)
                ):
                    return True
    return False


def backward(m: Machine, node: ast.AST, made_of: frozenset[Any]) -> None:
    """Record a backward of a loss made of ``made_of``."""
    look_at_outputs(m, made_of)
    m.record(facts.Backward, node, made_of=made_of, quiet=quiet(m))


def scales_and_steps(m: Machine, name: str, args: Arguments, node: ast.AST) -> bool:
    """``loss_scaler(loss, optimizer, ...)``: one call out of sight that runs the backward and the step."""
    if "scaler" not in name.lower() or not args.positional:
        return False
    taint = args.positional[0].taint
    if not any(isinstance(part, facts.Forward) for part in taint):
        return False
    backward(m, node, taint)
    update = args.get(None, "update_grad", "need_update")
    path = m.path
    if update is not None:
        yes, _ = split(update)
        m.path = conjoin(m.path, yes)
    if m.path:
        m.record(facts.Step, node, optimizer=args.positional[1] if len(args.positional) > 1 else NONE)
    m.path = path
    return True


_MOVES = {
    "cuda": "device", "cpu": "device", "xpu": "device", "npu": "device", "mps": "device",
    "half": "dtype", "float": "dtype", "double": "dtype", "bfloat16": "dtype",
}  # fmt: skip


_THEMSELVES = frozenset(
    ["train", "eval", "requires_grad_", "apply", "share_memory", "to_empty", "gradient_checkpointing_enable", "compile"]
)


def module_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a network or a wrapper."""
    if name in ("forward", "__call__"):
        return forward(m, me, args, node)
    if name in _MOVES or name in ("to", "type"):
        _moved(m, me, name, args, node)
        return one(me)
    if name in _THEMSELVES:
        return one(me)
    if name == "state_dict":
        if node is None:
            return one(Sym("state dict"))
        event = m.record(facts.StateDict, node, module=me)
        return one(Sym(f"state dict {event.index}", opaque=False, made_of=frozenset({event})))
    if name == "load_state_dict":
        if node is not None:
            load_into(m, me, args, node)
        return one(Sym("keys", opaque=False))
    if name in _NAMED and node is not None:
        event = m.record(facts.StateDict, node, module=me, how=name)
        if me.kind == "ddp":
            return _named(m, me, event)
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        return one(Sym(f"{name} of {me.key}", opaque=False, made_of=frozenset({me, facts.Weights(me)})))
    if name == "no_sync" and me.kind == "ddp":
        return one(m.new("nosync", node, wrapper=me))
    if name == "join" and me.kind == "ddp":
        return one(m.new("context", node, name="join"))
    if name == "save_pretrained":
        return record_write(m, "save_pretrained", args.get(0, "save_directory"), one(me), node)
    if name in ("modules", "children"):
        parts = list(me.attrs.values())
        own = [one(me)] if name == "modules" else []
        return one(m.new("list", node, loose=True)) if not parts else loose_list(m, node, [*own, *parts])
    if name in ("keys", "values", "items", "append", "update", "get", "pop") and me.cls is not None:
        return dict_method(m, me, name, args, node) if name != "append" else list_method(m, me, name, args, node)
    if name in ("add_module", "register_module"):
        literal = args.positional[0].constant() if args.positional else ...
        if isinstance(literal, str) and len(args.positional) > 1:
            m.write(me.attrs, literal, args.positional[1])
        return NONE
    if me.kind == "module" and not isinstance(me.cls, Class) and name not in ("named_modules", "zero_grad"):
        taint = frozenset(p for v in args.all() for p in v.taint)
        return one(Sym(f"{me.key}.{name}()", False, False, True, taint | {me}))
    if name == "named_modules":
        pair = m.new("tuple", node)
        pair.attrs["[0]"] = one(Sym("name", opaque=False))
        pair.attrs["[1]"] = union([one(me), *me.attrs.values()])
        return loose_list(m, node, [one(pair)])
    if name == "zero_grad" and node is not None:
        m.record(facts.ZeroGrad, node, thing=me)
    taint = frozenset(part for value in args.all() for part in value.taint)
    return one(Sym(f"{me.key}.{name}()", opaque=name != "zero_grad", made_of=taint | {me}))


_NAMED = frozenset({"named_parameters", "named_buffers", "named_modules"})
"""Methods that give pairs of a name, as a state dict has it, and what is called so."""


def _named(m: Machine, me: Obj, event: facts.StateDict) -> Value:
    """The pairs that such a method of a wrapper gives."""
    node, text = event.site.node, f"{event.how} {event.index}"
    key = one(Sym(f"key of {text}", opaque=False, made_of=frozenset({facts.KeyOf(event)})))
    part = one(Sym(f"part of {text}", opaque=False, made_of=frozenset({me, facts.PartOf(event)})))
    if event.how == "named_modules":
        part = union([one(me), *me.attrs.values()])
    return loose_list(m, node, [entry_value(m, "items", key, part, node)])


_ENTRY = re.compile(r"item\((.*), '([^']*)'\)")


def entry_of_file(state: Value) -> str | None:
    """The entry of a file that a state is: ``model`` for ``torch.load(path)["model"]``; empty for the file itself."""
    atom, entry = state.only, ""
    text = atom.text if isinstance(atom, Sym) else ""
    while match := _ENTRY.fullmatch(text):
        text, entry = match.groups()
    return entry if text.startswith("loaded from ") else None


def _moved(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> None:
    if node is None:
        return
    if name in _MOVES:
        target = first_argument(args) if args.all() else const(name)
        what = _MOVES[name]
        if what == "dtype":
            target = const(name)
        elif name == "cpu":
            target = const("cpu")
        m.record(facts.Move, node, module=me, what=what, target=target)
        return
    given = dict(args.keywords)
    for value in args.positional[:2]:
        given["dtype" if _is_dtype(value) else "device"] = value
    if name == "type":
        given = {"dtype": first_argument(args)}
    for what in ("device", "dtype"):
        if what in given and given[what].constant() is not None:
            m.record(facts.Move, node, module=me, what=what, target=given[what])
    if not args.all():
        return


def _is_dtype(value: Value) -> bool:
    for atom in value.atoms():
        text = atom.key.lower()
        if isinstance(atom, Sym) and (
            (text.startswith("torch.") and text[6:] in DTYPES) or "dtype" in text or "precision" in text
        ):
            return True
    return False


def optimizer_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of an optimizer."""
    if name == "step":
        for closure in (atom for value in args.all() for atom in value.atoms()):
            if isinstance(closure, Func | Bound):
                call_back(m, closure, node)
        if node is not None:
            m.record(facts.Step, node, optimizer=one(me))
        return NONE
    if name == "backward" and node is not None and args.positional:
        backward(m, node, args.positional[0].taint)
        return NONE
    if name == "consolidate_state_dict" and node is not None:
        m.record(facts.Collective, node, name=name, tensors=NONE, group=None)
        return NONE
    if name == "state_dict":
        return one(Sym(f"state of {me.key}", opaque=False))
    if name == "zero_grad" and node is not None:
        m.record(facts.ZeroGrad, node, thing=me)
    return one(Sym(f"{me.key}.{name}", opaque=False))


def reducer_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a wrapper's reducer; None where it is none that matters."""
    if name == "prepare_for_backward" and node is not None:
        m.record(facts.Prepare, node, wrapper=me.notes["wrapper"])
        return NONE
    return None


def script_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a scripted or traced module; None where it is none that matters."""
    if name == "save":
        return record_write(m, "ScriptModule.save", args.get(0, "f"), None, node)
    if name in ("eval", "train", "to", "cuda", "cpu", "half"):
        return one(me)
    return None


def dispatch_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """``register`` of a ``functools.singledispatch`` function; None for any other method."""
    if name != "register":
        return None
    given = args.positional[-1].only if args.positional else None
    if isinstance(given, Func):
        me.notes["arms"].append(given)
        return one(given)
    return one(Bound(me, name, None))


def is_step(text: str, args: Arguments) -> bool:
    """Whether ``x.step()`` is an optimizer's (or a gradient scaler's) step, as far as ``x`` can be told."""
    if "sched" in text or "prof" in text:
        return False
    given = any(isinstance(a, Obj) and a.kind == "optimizer" for v in args.positional for a in v.atoms())
    return given or "opt" in text or "scaler" in text or "adam" in text or "sgd" in text
