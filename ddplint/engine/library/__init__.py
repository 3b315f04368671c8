"""What torch, the standard library and their like do, as far as the rules need to know."""

from __future__ import annotations

from ddplint.engine.library.basics import classes, has, is_instance
from ddplint.engine.library.contexts import decorated, enter_decorators
from ddplint.engine.library.dispatch import call, call_object, method
from ddplint.engine.library.distributed import may_wait_unseen, waited
from ddplint.engine.library.environment import CUDA, DEVICES, environment, in_environment
from ddplint.engine.library.lookups import builtin, named, star
from ddplint.engine.library.making import (
    attribute,
    attribute_was_set,
    born,
    has_method,
    holds,
    initialise,
    kind_of,
    worth_making,
)
from ddplint.engine.library.metrics import agreed, puts_together
from ddplint.engine.library.networks import (
    entry_of_file,
    left_by_forward,
    made_of,
    of_part,
    of_unseen,
    of_wrapped,
    scales_and_steps,
)
from ddplint.engine.library.options import command_line, is_command, option
from ddplint.engine.library.randomness import may_seed_unseen, seeded_out_of_sight

__all__ = [
    "CUDA",
    "DEVICES",
    "agreed",
    "attribute",
    "attribute_was_set",
    "born",
    "builtin",
    "call",
    "call_object",
    "classes",
    "command_line",
    "decorated",
    "enter_decorators",
    "entry_of_file",
    "environment",
    "has",
    "has_method",
    "holds",
    "in_environment",
    "initialise",
    "is_command",
    "is_instance",
    "kind_of",
    "left_by_forward",
    "made_of",
    "may_seed_unseen",
    "may_wait_unseen",
    "method",
    "named",
    "of_part",
    "of_unseen",
    "of_wrapped",
    "option",
    "puts_together",
    "scales_and_steps",
    "seeded_out_of_sight",
    "star",
    "waited",
    "worth_making",
]
