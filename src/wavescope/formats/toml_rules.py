"""Reads TOML files that users write: rules on names, rules on phases, metrics of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.model.rules_document import RulesDocument

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST_BYTES = 1 << 20


def read_rules(path: str | os.PathLike[str]) -> RulesDocument:
    """The content of a file; what cannot be read or is no TOML is an `UnreadableInputError`."""
    text = _text(Path(path))
    try:
        return RulesDocument(os.fspath(path), tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableInputError(path, f"it is not TOML: {error}") from error


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise UnreadableInputError(path, "it is not a file")
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or "it cannot be opened") from error
    if len(content) > LARGEST_BYTES:
        raise UnreadableInputError(path, "it is too large for a file of rules")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableInputError(path, f"it is not TOML: {error}") from error
