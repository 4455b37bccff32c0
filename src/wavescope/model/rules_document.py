"""A user's file of rules as it was read: what it holds, and its name for errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RulesDocument:
    """The content of a TOML file, of which nothing is known yet but that it is TOML."""

    path: str
    content: Mapping[str, Any]
