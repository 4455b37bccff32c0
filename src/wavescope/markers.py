"""Marks and ranges from Python code, as markers of a trace, and a switch for the recording.

import wavescope

with wavescope.range("prefill"):
    model.prefill(batch)
wavescope.mark("first token")

They go through the roctx functions of the running process, which `wavescope trace` provides. In a
program that is not recorded there are none, and everything here does nothing: the calls can stay.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

__all__ = ["Range", "mark", "pause", "range", "resume"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class _Roctx:
    """The functions of roctx that are used here."""

    mark: Callable[[bytes], None]
    push: Callable[[bytes], int]
    pop: Callable[[], int]
    start: Callable[[bytes], int]
    stop: Callable[[int], None]
    pause: Callable[[int], int] | None
    resume: Callable[[int], int] | None


@functools.cache
def _roctx() -> _Roctx | None:
    """The roctx of this process, or None when it has none."""
    # A marker takes less time than handing the interpreter lock over and back, as ctypes.CDLL does.
    process = ctypes.PyDLL(None)
    try:
        return _Roctx(
            mark=_declared(process, "roctxMarkA", None, ctypes.c_char_p),
            push=_declared(process, "roctxRangePushA", ctypes.c_int, ctypes.c_char_p),
            pop=_declared(process, "roctxRangePop", ctypes.c_int),
            start=_declared(process, "roctxRangeStartA", ctypes.c_uint64, ctypes.c_char_p),
            stop=_declared(process, "roctxRangeStop", None, ctypes.c_uint64),
            pause=_declared_if_there(process, "roctxProfilerPause"),
            resume=_declared_if_there(process, "roctxProfilerResume"),
        )
    except AttributeError:
        return None


def _declared(process: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function = getattr(process, name)
    function.restype = result
    function.argtypes = arguments
    found: Callable[..., Any] = function
    return found


def _declared_if_there(process: ctypes.CDLL, name: str) -> Callable[[int], int] | None:
    """Libraries of roctx before ROCm 6.2 cannot pause."""
    if not hasattr(process, name):
        return None
    return _declared(process, name, ctypes.c_int, ctypes.c_uint64)


def mark(text: str) -> None:
    """Mark this moment."""
    roctx = _roctx()
    if roctx is not None:
        roctx.mark(_encoded(text))


def pause() -> None:
    """Record nothing from here on, in the whole process, until `resume`."""
    roctx = _roctx()
    if roctx is not None and roctx.pause is not None:
        roctx.pause(0)


def resume() -> None:
    """Record again; also begins a recording that was started with --start-paused."""
    roctx = _roctx()
    if roctx is not None and roctx.resume is not None:
        roctx.resume(0)


class Range:
    """A range of time: the body of a `with` block, or every call of a decorated function."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __enter__(self) -> Range:
        roctx = _roctx()
        if roctx is not None:
            roctx.push(_encoded(self.text))
        return self

    def __exit__(self, *_error: object) -> None:
        roctx = _roctx()
        if roctx is not None:
            roctx.pop()

    def __call__(self, function: _Function) -> _Function:
        """`function` with a range around each call.

        Coroutines and generators give way to other code in between, so that their ranges may
        overlap others: they are not part of the thread's nesting.
        """
        return cast("_Function", _decorated(function, self.text))


def range(text: str) -> Range:  # noqa: A001
    """A named range of time, for a `with` block or as a decorator."""
    return Range(text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


@contextmanager
def _started(text: str) -> Iterator[None]:
    """A range that may overlap others of its thread."""
    roctx = _roctx()
    identifier = None if roctx is None else roctx.start(_encoded(text))
    try:
        yield
    finally:
        if roctx is not None and identifier is not None:
            roctx.stop(identifier)


def _decorated(function: Callable[..., Any], text: str) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with _started(text):
                return await function(*args, **kwargs)

        return awaited

    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def iterated(*args: Any, **kwargs: Any) -> Any:
            with _started(text):
                return (yield from function(*args, **kwargs))

        return iterated

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with Range(text):
            return function(*args, **kwargs)

    return called
