"""What came of a case, and what of it is a failure."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from wavescope.errors import (
    EXIT_CHECK_FAILED,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    EXIT_UNREADABLE_INPUT,
    EXIT_USAGE,
)

_ANSWERS = frozenset({EXIT_OK, EXIT_CHECK_FAILED, EXIT_INCONCLUSIVE})
_REFUSALS = frozenset({EXIT_USAGE, EXIT_UNREADABLE_INPUT})
HANG = -1
_MOST_LINES = 8
_MOST_CHARACTERS = 4_000
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WARNING = re.compile(r"^.*\b\w*Warning: .*$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What one case did; `signal` is `HANG` for a case that was killed because it took too long."""

    code: int = 0
    errors: str = ""
    signal: int = 0
    is_json_asked: bool = False
    is_json_valid: bool = True
    changed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Temporary files that are still there, and outputs of a command that failed."""
    tells_bug: bool = False
    """Whether the output has a row of a worker that met one."""
    peak_bytes: int = 0
    seconds: float = 0.0

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Outcome:
        """What `to_json` wrote."""
        members: dict[str, Any] = json.loads(line)
        tuples = {name: tuple(members[name]) for name in ("changed", "left")}
        return cls(**{**members, **tuples})


def failure_of(outcome: Outcome, *, most_bytes: int) -> str:
    """What is wrong in a few words, empty where nothing is."""
    if outcome.signal:
        return "hang" if outcome.signal == HANG else f"killed by signal {outcome.signal}"
    if "Traceback (most recent" in outcome.errors:
        return "traceback"
    if outcome.code not in _ANSWERS | _REFUSALS:
        return f"exit code {outcome.code}"
    if outcome.peak_bytes > most_bytes:
        return "too much memory"
    if outcome.changed:
        return "the input was changed"
    if outcome.left:
        return "files were left behind"
    if outcome.tells_bug:
        return "a bug in a worker"
    return _failure_of_text(outcome)


def _failure_of_text(outcome: Outcome) -> str:
    if _WARNING.search(outcome.errors):
        return "a warning of Python"
    if outcome.code in _REFUSALS and not _is_one_sentence(outcome.errors):
        return "no error in one sentence"
    if _CONTROL.search(outcome.errors):
        return "control characters in a message"
    if outcome.code == EXIT_OK and outcome.is_json_asked and not outcome.is_json_valid:
        return "invalid JSON"
    return ""


def _is_one_sentence(errors: str) -> bool:
    lines = errors.splitlines()
    told = [line for line in lines if line.startswith("error: ")]
    return len(told) == 1 and len(lines) <= _MOST_LINES and len(errors) <= _MOST_CHARACTERS


_FRAME = re.compile(r'File "[^"]*?(src/wavescope/[^"]*|fuzz/(?!main)[^"]*)", line (\d+), in (\w+)')
_ERROR = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception|Warning)?)(?:: .*)?$", re.MULTILINE)


def place_of(errors: str) -> str:
    """Where the last traceback in `errors` ends within our code, to tell failures apart."""
    frames = _FRAME.findall(errors)
    if not frames:
        warning = _WARNING.search(errors)
        return warning[0][:200] if warning else ""
    path, line, function = frames[-1]
    return f"{path}:{line} {function} {_last_error(errors)}"


def _last_error(errors: str) -> str:
    names = [
        found[1] for found in _ERROR.finditer(errors) if found[1].endswith(("Error", "Exception"))
    ]
    return names[-1] if names else ""
