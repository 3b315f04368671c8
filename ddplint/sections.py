"""Which options stand in ddplint's own section of a configuration file of pylint's."""

from __future__ import annotations

import configparser
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_SECTION = "ddplint"


def options_in_own_section(file: str) -> set[str]:
    """The options in ``[tool.pylint.ddplint]``, or in the section of that name in the other forms.

    Empty if ``file`` cannot be read or parsed, which pylint says itself.
    """
    try:
        if file.endswith(".toml"):
            with open(file, "rb") as content:
                return _of_tables(tomllib.load(content))
        parser = configparser.ConfigParser(inline_comment_prefixes=("#", ";"))
        parser.read(file, encoding="utf_8_sig")
    except (OSError, ValueError, configparser.Error):
        return set()
    return {option for section in parser.sections() if _is_own(section) for option in parser[section]}


def _of_tables(content: dict[str, Any]) -> set[str]:
    try:
        tables = content["tool"]["pylint"].items()
    except (AttributeError, KeyError, TypeError):
        return set()
    return {option for name, table in tables if _is_own(name) and isinstance(table, dict) for option in table}


def _is_own(section: str) -> bool:
    return section.lower().removeprefix("pylint.") == _SECTION
