"""What calls of the host and markers are, told by category and name: the same in all colourings."""

from __future__ import annotations

import re

from wavescope.analyze.steps import STEP_NAMES

OPERATOR = "operator"
PYTHON = "Python"
RUNTIME_API = "runtime API"
OTHER_CALL = "other host call"
STEP_MARKER = "step marker"
MARKER = "marker"

HOST = "host"
"""All of them together, where colours say something of GPU work alone."""
HOST_LABELS = (OPERATOR, PYTHON, RUNTIME_API, OTHER_CALL, STEP_MARKER, MARKER)

_LONGEST_MATCHED = 4_096
_OPERATOR = re.compile(r"cpu_op|operator", re.IGNORECASE)
_PYTHON = re.compile(r"python", re.IGNORECASE)
_RUNTIME_API = re.compile(r"(\w+_)?(api|runtime|driver)(_\w+)?|hip|hsa|cuda", re.IGNORECASE)
_RUNTIME_FUNCTION = re.compile(r"(hip|hsa_|cuda|cu|nccl|roctx|nvtx)[A-Z_a-z]\w*")
_STEP = re.compile(STEP_NAMES)


def call_label(name: str, category: str) -> str:
    """What a call of that name and category (which may be empty) is."""
    category = category[:_LONGEST_MATCHED]
    if _OPERATOR.fullmatch(category):
        return OPERATOR
    if _PYTHON.match(category):
        return PYTHON
    if _RUNTIME_API.fullmatch(category):
        return RUNTIME_API
    if not category and _RUNTIME_FUNCTION.fullmatch(name, 0, _LONGEST_MATCHED):
        return RUNTIME_API
    return OTHER_CALL


def marker_label(name: str) -> str:
    """What a marker of that name is."""
    return STEP_MARKER if _STEP.match(name, 0, _LONGEST_MATCHED) else MARKER
