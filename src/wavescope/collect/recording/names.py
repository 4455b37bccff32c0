"""Output names with placeholders: %p, %h, %rank% and %env{NAME}%."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from wavescope.collect.recording.ranks import Rank
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
    return Path(_filled(with_rank(name, values.rank), values))


def _filled(name: str, values: NameValues) -> str:
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

    return _PLACEHOLDER.sub(filled, name)


def with_rank(name: str, rank: Rank) -> str:
    """`name` with a placeholder for the rank, where several ranks would write the same file."""
    tells_ranks_apart = _PLACEHOLDER.search(name.replace("%%", "").replace("%h", ""))
    if rank.world_size <= 1 or tells_ranks_apart:
        return name
    path = PurePath(name)
    return str(path.with_name(f"{path.stem}_rank%rank%{path.suffix}"))


def pattern_of_all_ranks(name: str, values: NameValues) -> str:
    """What a shell expands to the files of all ranks."""
    marked = with_rank(name, values.rank).replace("%rank%", "\0").replace("%p", "\0")
    return _filled(marked, values).replace("\0", "*")


def _variable(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name)
    if value is None:
        raise UsageError(f"%env{{{name}}}%: the variable {name} is not set")
    return value
