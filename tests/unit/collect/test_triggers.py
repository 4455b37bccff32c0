"""What closes, and what is slow: seen from outside of the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.chunks import ProcessMaker, a_process
from wavescope.collect.recent_part import RecentPart
from wavescope.collect.record_options import SlowStep, compiled_pattern
from wavescope.collect.recording import triggers as triggers_module
from wavescope.collect.recording.triggers import ClosedMarkers, Triggers
from wavescope.errors import UsageError
from wavescope.formats.session.reading import recent_windows
from wavescope.formats.session.record_file import RecordFile, Records


def rewritten(process: ProcessMaker) -> None:
    process.write(ended=False)


def told(markers: ClosedMarkers) -> list[str]:
    return [marker.text for marker in markers.since_last_look()]


def test_each_marker_is_told_once_when_it_has_closed(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_marker("open", 5, 0, id=1, kind=3)
    for number in range(2, 600):
        process.with_marker(f"step {number % 3}", number, number + 1, id=number)
    rewritten(process)
    markers = ClosedMarkers(tmp_path)
    assert len(told(markers)) == 598
    assert told(markers) == []
    process.with_marker("new", 700, 710, id=700)
    del process.records["markers"][0]
    process.with_marker("open", 5, 800, id=1)
    process.records["markers"].insert(0, process.records["markers"].pop())
    rewritten(process)
    assert sorted(told(markers)) == ["new", "open"]
    assert told(markers) == []


def test_blocks_that_made_room_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = a_process(tmp_path).with_marker("open", 5, 0, id=1, kind=3)
    for number in range(2, 4 * 256 + 1):
        process.with_marker("step", number, number + 1, id=number)
    rewritten(process)
    markers = ClosedMarkers(tmp_path)
    assert len(told(markers)) == 4 * 256 - 1
    read: list[tuple[int, int]] = []
    records_at = RecordFile.records_at

    def noted(file: RecordFile, places: npt.NDArray[np.int64]) -> Records:
        read.append((int(places[0]), len(places)))
        return records_at(file, places)

    monkeypatch.setattr(RecordFile, "records_at", noted)
    assert told(markers) == []
    assert read == [(0, 256)]  # the range that is open may close, and nothing else may change

    process.records["markers"][:256] = [bytes(48)] * 256  # a hole
    for number in range(2000, 2256):
        process.with_marker("later", number, number + 1, id=number)
    rewritten(process)
    assert told(markers) == ["later"] * 256
    read.clear()
    assert told(markers) == []
    assert read == []


def test_room_that_a_file_has_ahead_is_looked_at_until_it_is_filled(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_marker("first", 1, 2, id=1)
    ahead = [bytes(48)] * (3 * 256 - 1)
    process.records["markers"] += ahead
    rewritten(process)
    markers = ClosedMarkers(tmp_path)
    assert [told(markers) for _ in range(4)] == [["first"], [], [], []]
    for number in range(2, 3 * 256 + 1):
        process.with_marker("later", number, number + 1, id=number)
    del process.records["markers"][1 : 1 + len(ahead)]
    rewritten(process)
    assert told(markers) == ["later"] * len(ahead)
    assert told(markers) == []


def test_recording_ends_with_the_first_marker_that_matches(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0).with_op(start=10, end=20).with_op(start=95, end=99)
    process.with_marker("warm-up", 1, 5, id=1).with_marker("epoch 2", 60, 90, id=2)
    process.with_marker("epoch 2", 91, 120, id=3)
    rewritten(process)
    recent = RecentPart(tmp_path)
    Triggers(recent, compiled_pattern("epoch [2-9]", "markers"), None, tmp_path / "t.db").look()
    windows = recent_windows(tmp_path, [process.base])
    assert windows is not None
    assert (windows[process.base].start_ns, windows[process.base].end_ns) == (0, 90)


class Snapshots:
    """Stands in for the processes that write snapshots."""

    def __init__(self) -> None:
        self.outputs: list[str] = []

    def __call__(self, command: list[str]) -> Snapshots:
        self.outputs.append(Path(command[-1]).name)
        return self

    def poll(self) -> int:
        return 0

    def wait(self) -> int:
        return 0


def test_a_slow_step_leaves_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = Snapshots()
    monkeypatch.setattr(triggers_module.subprocess, "Popen", snapshots)
    assert subprocess.Popen is snapshots
    process = a_process(tmp_path)
    durations = [10] * 9 + [50] + [10, 20, 21]  # the fifth-fold one comes too early to tell
    for number, duration in enumerate(durations, 1):
        process.with_marker("step", 100 * number, 100 * number + duration, id=number)
    process.with_marker("other", 5000, 9000, id=50)
    rewritten(process)
    triggers = Triggers(
        RecentPart(tmp_path), None, SlowStep.parse("step > 2x median"), tmp_path / "t.db"
    )
    triggers.look()
    assert snapshots.outputs == ["t_slow_1.db"]
    triggers.look()
    triggers.finish()
    assert snapshots.outputs == ["t_slow_1.db"]


@pytest.mark.parametrize("text", ["", "step", "step > median", "step > 2 median", "( > 2x median"])
def test_conditions_that_cannot_be_understood_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        SlowStep.parse(text)


def test_a_condition_in_words() -> None:
    condition = SlowStep.parse("decode step >1.5x median")
    assert (condition.marker.pattern, condition.factor) == ("decode step", 1.5)
