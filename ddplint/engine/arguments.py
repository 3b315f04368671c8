"""What a call passes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ddplint.engine.values import Obj, Sym, Value, blend, one


@dataclass
class Arguments:
    """What a call passes. ``rest`` and ``more`` are what stands behind ``*`` and ``**`` and is not known one by one."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    rest: list[Value] = field(default_factory=list)
    more: list[Value] = field(default_factory=list)

    def get(self, position: int | None, *names: str) -> Value | None:
        """The argument at a position or of a name; unknown where it may hide behind ``*`` or ``**``."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        if position is not None and self.rest:
            return one(blend("argument", self.rest, opaque=True))
        for value in self.more:
            for atom in value.atoms():
                if not isinstance(atom, Obj) or "*" in atom.attrs or "namespace" in atom.notes:
                    return one(Sym(f"{names[0] if names else position} of {value.key}"))
        return None

    def all(self) -> list[Value]:
        """Every value that is passed, those behind ``*`` and ``**`` included."""
        return [*self.positional, *self.keywords.values(), *self.rest, *self.more]

    def before(self, *values: Value) -> Arguments:
        """The same with ``values`` in front of the positional ones."""
        return Arguments([*values, *self.positional], self.keywords, self.rest, self.more)


def exact_elements(value: Value) -> list[Value] | None:
    """The elements of a list or tuple that is known one by one."""
    atom = value.only
    if (
        isinstance(atom, Obj)
        and atom.kind in ("list", "tuple")
        and not atom.notes.get("loose")
        and "*" not in atom.attrs
    ):
        return list(atom.attrs.values())
    return None
