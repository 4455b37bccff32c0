"""What `with` does to things that hold files, memory or native handles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

_Opened = TypeVar("_Opened", bound="Closing")


class Closing(ABC):
    """`with thing:` closes it in the end, whatever happened in between."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back; a second call does nothing."""

    def __enter__(self: _Opened) -> _Opened:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` when the block fails, whatever the reason; what it made stays otherwise."""
    with ExitStack() as stack:
        stack.callback(undo)
        yield
        stack.pop_all()
