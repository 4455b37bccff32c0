"""TOML files of rules and metrics that users write."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wavescope.errors import UnreadableInputError
from wavescope.whole_files import whole_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST_BYTES = 1 << 20


@dataclass(frozen=True)
class RulesDocument:
    """The content of a TOML file, of which nothing is known yet but that it is TOML."""

    path: str
    content: Mapping[str, Any]


def read_rules(path: str | os.PathLike[str]) -> RulesDocument:
    """The content of a file; what cannot be read or is no TOML is an `UnreadableInputError`."""
    text = _text(Path(path))
    try:
        return RulesDocument(os.fspath(path), tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableInputError(
            path,
            f"it is not TOML: {error}",
            hint="texts stand in quotes, tables in [[brackets]]; docs/definitions.md and "
            "docs/categories.md show whole files",
        ) from error


def _text(path: Path) -> str:
    content = whole_file(path, LARGEST_BYTES, "a file of rules")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableInputError(
            path,
            f"it is not TOML: {error}",
            hint="texts stand in quotes, tables in [[brackets]]; docs/definitions.md and "
            "docs/categories.md show whole files",
        ) from error
