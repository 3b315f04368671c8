"""What a project tells of itself in its configuration: the names whose meaning its text does not show.

Each field of ``Settings`` is an option: ``rank_predicates`` is ``ddp-rank-predicates`` in pylint's configuration.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass, fields

HELP = {
    "rank_predicates": (
        "Functions, methods and attributes that are true on one rank and false on all others, "
        "such as mypkg.dist.is_chief or mypkg.trainer.Trainer.is_lead. A test of one is a test of the rank."
    ),
    "sharding_classes": (
        "Samplers, datasets and loaders that give each rank a part of its own, such as mypkg.data.OwnPart. "
        "Subclasses do so too."
    ),
    "one_rank_savers": (
        "Functions and methods in which one rank alone writes, such as mypkg.io.save_on_chief. "
        "What they call writes on that rank, too."
    ),
    "unwrap_functions": (
        "Functions and methods that return the model inside DistributedDataParallel, such as mypkg.dist.bare_model."
    ),
}
"""What each option is for, as pylint's ``--help`` prints it."""


class WrongSettingError(ValueError):
    """An option's value that is not what the option takes, in one line."""


@dataclass(frozen=True)
class Settings:
    """Dotted names (``package.module.name`` or ``package.module.Class.name``) as an import would find them."""

    rank_predicates: tuple[str, ...] = ()
    sharding_classes: tuple[str, ...] = ()
    one_rank_savers: tuple[str, ...] = ()
    unwrap_functions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


def option(field: str) -> str:
    """What a field of ``Settings`` is called in the configuration and on the command line."""
    return f"ddp-{field.replace('_', '-')}"


OPTIONS = {field.name: option(field.name) for field in fields(Settings)}
"""The option of each field."""


def read(config: object) -> Settings:
    """The settings in ``config``, pylint's namespace of options; an option that is not set is None there.

    Raises ``WrongSettingError`` for an option without a name and for a name that is not dotted.
    """
    given = {field: getattr(config, name.replace("-", "_"), None) for field, name in OPTIONS.items()}
    return Settings(**{field: _names(OPTIONS[field], names) for field, names in given.items() if names is not None})


def _names(option_name: str, given: list[str]) -> tuple[str, ...]:
    if not given:
        raise WrongSettingError(f"argument --{option_name}: at least one dotted name is expected")
    for name in given:
        parts = name.split(".")
        if len(parts) < 2 or not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
            reason = f"{name!r} is not a dotted name such as package.module.name"
            raise WrongSettingError(f"argument --{option_name}: {reason}")
    return tuple(dict.fromkeys(given))
