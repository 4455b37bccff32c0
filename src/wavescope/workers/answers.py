"""What a worker answers for one item, and its form between processes: a header and bytes."""

from __future__ import annotations

import json
import struct
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name

from wavescope.errors import WavescopeError

_HEADER_SIZE = struct.Struct("<I")
_MOST_CHARACTERS = 500
_TOO_LITTLE_MEMORY = "it needs more memory than a worker may have"
_NO_ROOM = ("failed to map segment", "Cannot allocate memory")
"""What the dynamic linker says where a library finds no room in the memory that is allowed."""

TaskFunction = Callable[[str, bytes], bytes]


@dataclass(frozen=True)
class Answer:
    """A value, or why there is none; `is_lost` where the worker ended before it could answer."""

    value: bytes | None = None
    problem: str = ""
    details: str = ""
    is_lost: bool = False
    hint: str = ""
    """What to do about the problem."""


def answer_of(function: str, item: str, options: bytes) -> Answer:
    """What the function named `function` answers for `item`; whatever it raises is a sentence."""
    try:
        value = _called(resolve_name(function), item, options)
    except WavescopeError as error:
        return Answer(problem=str(error), details=traceback.format_exc(), hint=error.hint)
    except MemoryError:
        return Answer(problem=_TOO_LITTLE_MEMORY, details=traceback.format_exc())
    except OSError as error:
        return Answer(problem=_refused(error, item), details=traceback.format_exc())
    except (Exception, SystemExit) as error:  # noqa: BLE001  a bug costs one item, and is told
        is_limit = isinstance(error, ImportError) and any(each in str(error) for each in _NO_ROOM)
        problem = f"a bug: {type(error).__name__}: {error}"
        return Answer(
            problem=_TOO_LITTLE_MEMORY if is_limit else shortened(problem),
            details=traceback.format_exc(),
        )
    return Answer(value)


def _called(function: TaskFunction, item: str, options: bytes) -> bytes:
    value = function(item, options)
    if not isinstance(value, bytes):
        raise TypeError(f"the task returned {type(value).__name__}, not bytes")
    return value


def _refused(error: OSError, item: str) -> str:
    """What the operating system said, with the file that it said it of."""
    path = error.filename if isinstance(error.filename, str) else item
    return shortened(f"cannot read {path}: {error.strerror or error}")


def shortened(text: str) -> str:
    """One line of `text`, not longer than a cell of a table bears."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."


def packed(answer: Answer) -> bytes:
    """The answer as bytes; text with any characters in it survives."""
    header = {
        "problem": answer.problem,
        "details": answer.details,
        "hint": answer.hint,
        "done": _is_done(answer),
    }
    encoded = json.dumps(header).encode()
    return _HEADER_SIZE.pack(len(encoded)) + encoded + (answer.value or b"")


def _is_done(answer: Answer) -> bool:
    return answer.value is not None


def unpacked(data: bytes) -> Answer:
    """The answer that `packed` made bytes of."""
    start = _HEADER_SIZE.size
    end = start + _HEADER_SIZE.unpack_from(data)[0]
    header = json.loads(data[start:end])
    value = data[end:] if header["done"] else None
    return Answer(value, header["problem"], header["details"], hint=header["hint"])
