"""`with` closes, or undoes, what it was given."""

from __future__ import annotations

import pytest

from wavescope.closing import Closing, on_error
from wavescope.formats.sqlite.sqlite_bulk import ClosingOrAborting


class _Log(ClosingOrAborting):
    def __init__(self) -> None:
        self.said: list[str] = []

    def close(self) -> None:
        self.said.append("closed")

    def abort(self) -> None:
        self.said.append("aborted")


def test_with_gives_the_thing_itself_and_closes_it() -> None:
    log = _Log()

    with log as given:
        assert given is log
        assert log.said == []
    assert log.said == ["closed"]


def test_an_error_aborts_and_goes_on() -> None:
    log = _Log()

    with pytest.raises(ValueError, match="no"), log:
        raise ValueError("no")
    assert log.said == ["aborted"]


def test_a_thing_that_cannot_close_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Closing()  # type: ignore[abstract]


def test_on_error_undoes_only_what_failed() -> None:
    undone: list[str] = []
    with on_error(lambda: undone.append("kept")):
        pass
    with pytest.raises(KeyboardInterrupt), on_error(lambda: undone.append("failed")):
        raise KeyboardInterrupt

    assert undone == ["failed"]
