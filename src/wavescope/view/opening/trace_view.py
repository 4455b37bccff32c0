"""One opened trace as the page sees it: what is there so far, and the trace behind it."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from wavescope.closing import Closing
from wavescope.errors import UnreadableInputError, WavescopeError
from wavescope.model.paths import PathLike
from wavescope.model.trace import Trace
from wavescope.view.opening.call_categories import CallCategories
from wavescope.view.rows import Row

_Part = TypeVar("_Part")
_CHANGED = "the file has changed since it was opened"
_CHANGED_HINT = "start `wavescope view` again to see what is in it now"


class StillReadingError(WavescopeError):
    """Something needs the whole trace, which is being read: whoever asked asks again later."""

    def __init__(self) -> None:
        super().__init__(
            "this needs the whole trace, which is still being read", hint="wait until it is read"
        )


FileState = tuple[int, int, int, int]
"""Device, number, size and time of change: another state is another file, or was written to."""


def file_state(path: PathLike) -> FileState | None:
    """The state of a regular file; None of anything else."""
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


@dataclass(frozen=True)
class Loaded:
    """What is known of a trace at one moment; a later moment has another object."""

    version: int = 0
    """Counts up whenever something was added."""
    rows: tuple[Row, ...] = ()
    """In the order in which they are shown."""
    first_ns: int = 0
    end_ns: int = 1
    share: float = 0.0
    """How much of the file was read, 0 to 1."""
    is_whole: bool = False
    problem: str = ""
    """Why reading ended before the end."""
    notes: tuple[str, ...] = ()
    """What the reader skipped or repaired, and what of the trace is not shown."""

    @property
    def span_ns(self) -> int:
        return max(1, self.end_ns - self.first_ns)

    @cached_property
    def row_by_id(self) -> Mapping[str, Row]:
        return {row.id: row for row in self.rows}


@dataclass(eq=False)
class TraceView(Closing):
    """A trace that is shown under the number `number`.

    `loaded` is replaced as a whole, so that whoever reads it sees one moment. Analyses, which need
    more of the trace than its lanes, take turns: `with view.turn:`.
    """

    number: int
    label: str
    trace: Trace
    loaded: Loaded = field(default_factory=Loaded)
    call_categories: CallCategories = field(default_factory=CallCategories, repr=False)
    """Of each name of a call its category, which lanes do not say."""
    compared_with: TraceView | None = None
    """Of several traces: the first one, of the first one the second."""
    opened_as: FileState | None = None
    """The file when it was opened, where it is one."""
    _turn: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _kept: dict[Callable[[TraceView], object], object] = field(default_factory=dict, repr=False)
    _closing: threading.Event = field(default_factory=threading.Event, repr=False)
    _reader: threading.Thread | None = field(default=None, repr=False)

    @property
    def turn(self) -> threading.RLock:
        """Held by whoever uses `trace`: a source can be read by one at a time."""
        return self._turn

    def read_with(self, read: Callable[[], object]) -> None:
        """Call `read` in a thread, which `close` waits for."""
        name = f"reading trace {self.number}"
        self._reader = threading.Thread(target=read, name=name, daemon=True)
        self._reader.start()

    def wait(self) -> None:
        """Until there is nothing more to read, and what is kept for the next time is."""
        if self._reader is not None:
            self._reader.join()

    def stop_reading(self) -> None:
        """Nobody will look at the trace any more."""
        self._closing.set()

    @property
    def is_closing(self) -> bool:
        """Whether nobody looks at the trace any more: reading ends then."""
        return self._closing.is_set()

    def closes_within(self, seconds: float) -> bool:
        """Wait so long, or until nobody looks at the trace any more; whether that is so."""
        return self._closing.wait(seconds)

    def close(self) -> None:
        """End reading and release the file; what is loaded stays usable."""
        self.stop_reading()
        self.wait()
        with self._turn:
            self.trace.close()

    def require_whole(self) -> None:
        """Raise `StillReadingError` while there is more to read, another error if that failed."""
        if self.loaded.problem:
            raise WavescopeError(f"the trace was not read to its end: {self.loaded.problem}")
        if not self.loaded.is_whole:
            raise StillReadingError
        self.require_unchanged()

    @property
    def has_changed(self) -> bool:
        """Whether another file is there now, or more or other bytes are in it.

        A file that was removed stays readable for whoever has it open.
        """
        state = file_state(self.trace.path) if self.opened_as is not None else None
        return state is not None and state != self.opened_as

    def require_unchanged(self) -> None:
        """Raise an error where rows of the file are no longer those that are shown."""
        if self.has_changed:
            raise UnreadableInputError(self.trace.path, _CHANGED, hint=_CHANGED_HINT)

    def notes(self, loaded: Loaded) -> tuple[str, ...]:
        """What readers of the page are to know at this moment."""
        changed = [f"{_CHANGED}: {_CHANGED_HINT}"] if self.has_changed else []
        return (*changed, *loaded.notes)

    def has_derived(self, derive: Callable[[TraceView], object]) -> bool:
        """Whether `derived` answers at once."""
        return derive in self._kept

    def derived(self, derive: Callable[[TraceView], _Part]) -> _Part:
        """What `derive` makes of the whole trace, made once, by one at a time."""
        if derive in self._kept:  # without waiting for whoever has the turn
            return self._kept[derive]  # type: ignore[return-value]
        with self._turn:
            if derive not in self._kept:
                self._kept[derive] = derive(self)
            return self._kept[derive]  # type: ignore[return-value]
