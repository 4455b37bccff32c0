"""Output names with placeholders: %p, %h, %rank% and %env{NAME}%."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.ranks import Rank
from wavescope.errors import UsageError

_PLACEHOLDER = re.compile(r"%env\{([^}%]*)\}%|%rank%|%p|%h|%%")


@dataclass(frozen=True)
class NameValues:
    """What placeholders stand for."""

    pid: int
    host: str
    rank: Rank
    environment: Mapping[str, str]


def expanded(name: str, values: NameValues) -> Path:
    """`name` with its placeholders filled in; a job of several ranks gets one name for each.

    Without a rank %rank% is 0; %% is a percent sign.
    """

    def filled(found: re.Match[str]) -> str:
        if found.group(1) is not None:
            return _variable(found.group(1), values.environment)
        fixed = {
            "%p": str(values.pid),
            "%h": values.host,
            "%rank%": str(max(0, values.rank.rank)),
            "%%": "%",
        }
        return fixed[found.group(0)]

    path = Path(_PLACEHOLDER.sub(filled, name))
    is_same_for_all = not _PLACEHOLDER.search(name.replace("%%", "").replace("%h", ""))
    if values.rank.world_size > 1 and is_same_for_all:
        return path.with_name(f"{path.stem}_rank{values.rank.rank}{path.suffix}")
    return path


def _variable(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name)
    if value is None:
        raise UsageError(f"%env{{{name}}}%: the variable {name} is not set")
    return value
