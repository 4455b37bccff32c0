"""Which kernels begin or end a step, told from their names by rules in a data file."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.names.demangle import demangle
from wavescope.names.kernel_names import LONGEST_MATCHED, built_in_rules


class StepRole(enum.IntEnum):
    """What a kernel's name says about its place in a step."""

    NONE = 0
    BEGIN = 1
    END = 2


class _RoleRule(NamedTuple):
    pattern: re.Pattern[str]
    role: StepRole


@functools.lru_cache(maxsize=1)
def _rules() -> tuple[_RoleRule, ...]:
    document = built_in_rules("analyze", "steps", "rules", "step_roles.toml")
    return tuple(
        _RoleRule(re.compile(rule["match"]), StepRole[rule["role"].upper()])
        for rule in document["role"]
    )


def step_roles(texts: Sequence[str], wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
    """The `StepRole` of each of the names that are wanted, none for the others."""
    roles = np.full(len(texts), StepRole.NONE, np.int8)
    for label in np.flatnonzero(wanted).tolist():
        roles[label] = _role(texts[label])
    return roles


def _role(text: str) -> StepRole:
    name = demangle(text)[:LONGEST_MATCHED]
    for rule in _rules():
        if rule.pattern.search(name):
            return rule.role
    return StepRole.NONE
