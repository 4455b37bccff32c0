"""Frames: whole ones come out of whatever parts went in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.workers.frames import ClosedError, FrameReader, received, send


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


@given(st.lists(st.binary(max_size=2000), max_size=8))
def test_frames_come_out_as_they_went_in(frames: list[bytes]) -> None:
    with pipe() as (reading, writing):
        for frame in frames:
            send(writing, frame)

        assert [received(reading) for _ in frames] == frames


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4), st.data())
def test_a_frame_is_given_when_its_last_byte_has_come(
    frames: list[bytes], data: st.DataObject
) -> None:
    with pipe() as (reading, writing):
        for frame in frames:
            send(writing, frame)
        sent = os.read(reading, 1 << 16)
        os.set_blocking(reading, False)
        reader, found = FrameReader(reading), []
        while sent:
            size = data.draw(st.integers(1, len(sent)))
            os.write(writing, sent[:size])
            sent = sent[size:]
            while (frame := reader.next()) is not None:
                found.append(frame)

        assert found == frames


def test_the_other_sides_end_is_told() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"\x08")
    os.close(writing)

    with pytest.raises(ClosedError):
        received(reading)
    with pytest.raises(ClosedError):
        FrameReader(reading).next()
    os.close(reading)


def test_nobody_to_write_to_is_told() -> None:
    reading, writing = os.pipe()
    os.close(reading)

    with pytest.raises(ClosedError):
        send(writing, b"anyone?")
    os.close(writing)
