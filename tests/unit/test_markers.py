"""Markers from Python: through a stand-in for roctx, and without any."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import wavescope
from wavescope import markers


class Log:
    """Notes every call that reaches roctx."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: object) -> int:
            self.calls.append((name, *arguments))
            return len(self.calls)

        return call


@pytest.fixture
def roctx(monkeypatch: pytest.MonkeyPatch) -> Log:
    log = Log()
    monkeypatch.setattr(markers, "_roctx", lambda: log)
    return log


def test_marks_ranges_and_the_switch(roctx: Log) -> None:
    with wavescope.range("outer") as entered:
        wavescope.mark("größe")
    wavescope.pause()
    wavescope.resume()

    assert entered.text == "outer"
    assert roctx.calls == [
        ("push", b"outer"),
        ("mark", "größe".encode()),
        ("pop",),
        ("pause", 0),
        ("resume", 0),
    ]


def test_a_range_is_closed_by_an_error(roctx: Log) -> None:
    with pytest.raises(ValueError, match="inside"), wavescope.range("failing"):
        raise ValueError("inside")

    assert roctx.calls == [("push", b"failing"), ("pop",)]


def test_decorated_functions_keep_their_face(roctx: Log) -> None:
    @wavescope.range("work")
    def work(value: int, *, twice: bool) -> int:
        """Doc."""
        return value * (2 if twice else 1)

    assert [work(3, twice=True), work(4, twice=False)] == [6, 4]
    assert (work.__name__, work.__doc__) == ("work", "Doc.")
    assert roctx.calls == [("push", b"work"), ("pop",), ("push", b"work"), ("pop",)]


def test_coroutines_get_ranges_that_may_overlap(roctx: Log) -> None:
    @wavescope.range("request")
    async def request(value: int) -> int:
        await asyncio.sleep(0)
        return value

    async def both() -> list[int]:
        return list(await asyncio.gather(request(1), request(2)))

    assert asyncio.run(both()) == [1, 2]
    assert roctx.calls == [("start", b"request"), ("start", b"request"), ("stop", 1), ("stop", 2)]


def test_generators_are_covered_while_they_run(roctx: Log) -> None:
    @wavescope.range("tokens")
    def tokens() -> Iterator[int]:
        wavescope.mark("inside")
        yield 1
        yield 2

    assert list(tokens()) == [1, 2]
    assert roctx.calls == [("start", b"tokens"), ("mark", b"inside"), ("stop", 1)]


def test_text_that_cannot_be_encoded_is_replaced(roctx: Log) -> None:
    wavescope.mark("lone \udcff surrogate")

    assert roctx.calls == [("mark", b"lone ? surrogate")]


PROGRAM = """
import sys
import wavescope
with wavescope.range("range"):
    wavescope.mark("mark")
@wavescope.range("decorated")
def work(): return 5
wavescope.pause(); wavescope.resume()
assert work() == 5
assert "numpy" not in sys.modules
"""


def test_without_roctx_everything_is_harmless_and_light() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
