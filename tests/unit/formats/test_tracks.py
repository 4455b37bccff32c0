"""Tracks: names, order, shown ids and limits."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.formats.timeline import survey as timeline_survey
from wavescope.formats.timeline import tracks as tracks_module
from wavescope.formats.timeline.survey import Survey
from wavescope.formats.timeline.tracks import ShownIds, TrackKind, TrackLayout
from wavescope.model.columns import OPS, QUEUES, THREADS
from wavescope.model.source import read_columns


def layout(maker: TraceMaker) -> TrackLayout:
    source = maker.build().source
    return TrackLayout(source, Survey(source))


def names(found: TrackLayout, *kinds: TrackKind) -> list[str]:
    return [track.name for track in found.tracks if track.kind in kinds]


def test_names_come_from_the_tables() -> None:
    maker = (
        a_trace()
        .with_process(7, name="server", rank=3, host="a")
        .with_process(8, command="/usr/bin/python3 x.py", host="b")
    )
    maker.with_agent(1, chip="gfx942", host="a").with_kernel("k", 1, 2, gpu=1, queue=4).with_kernel(
        "k", 1, 2, gpu=1, queue=5
    )
    maker.with_call("c", 1, 2, process=0, thread=70).with_call("c", 1, 2, process=1, thread=80)
    maker.builder.add_row(QUEUES, gpu=1, queue=5, name="compute")
    maker.builder.add_row(THREADS, process=1, thread=80, name="main")

    found = layout(maker)

    assert names(found, TrackKind.GPU) == ["GPU 1 gfx942 on a"]
    assert names(found, TrackKind.QUEUE) == ["queue 4", "compute"]
    assert names(found, TrackKind.PROCESS) == ["rank 3 server on a", "python3 on b"]
    assert names(found, TrackKind.THREAD) == ["thread 70", "main"]


def test_what_nobody_names_is_called_unknown() -> None:
    found = layout(
        a_trace().with_marker("m", 1, 2, process=-1, thread=-1).with_kernel("k", 1, 2, gpu=-1)
    )

    assert names(found, TrackKind.PROCESS, TrackKind.THREAD, TrackKind.GPU) == [
        "unknown GPU",
        "unknown process",
        "unknown thread",
    ]


def test_a_pid_finds_its_process() -> None:
    maker = a_trace().with_process(7, name="server").with_call("c", 1, 2, process=-1, pid=7)
    maker.with_marker("m", 1, 2, process=0, thread=1)

    assert names(layout(maker), TrackKind.PROCESS, TrackKind.THREAD) == ["server", "thread 1"]


def test_queues_beyond_the_limit_share_the_last_track(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracks_module, "MOST_TRACKS", 3)
    monkeypatch.setattr(tracks_module, "MOST_COUNTERS", 2)
    maker = a_trace()
    for queue in range(10):
        maker.with_kernel("k", queue, queue + 1, queue=queue)
        maker.with_call("c", queue, queue + 1, thread=queue + 1)

    found = layout(maker)

    assert len(names(found, TrackKind.QUEUE)) == len(names(found, TrackKind.THREAD)) == 3
    assert len(names(found, TrackKind.QUEUE_DEPTH)) == 2
    assert len(set(found.queue_tracks[2:].tolist())) == 1
    assert found.tracks[int(found.queue_tracks[9])].name == "queue 2"
    assert found.tracks[int(found.thread_tracks[9])].thread == 3


def test_places_beyond_the_limit_are_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_survey, "MOST_PLACES", 2)
    maker = a_trace()
    for queue in range(5):
        maker.with_kernel("k", queue, queue + 1, queue=queue)
    source = maker.build().source

    survey = Survey(source)

    batch = read_columns(source, OPS, ("gpu", "queue"))
    assert survey.queues.keys == [(0, 0), (0, 1)]
    assert survey.queue_numbers(batch).tolist() == [0, 1, 1, 1, 1]


def test_real_ids_are_shown_where_they_are_unique() -> None:
    ids = ShownIds(pids=[10, 11, 11, 1 << 40, 0], tids=[10, 12, 11, 0])

    assert (ids.process(10), ids.process(11)) == (10, 11)
    assert ids.process(11) == 1
    assert ids.process(1 << 40) == 2
    assert ids.thread(10, 10) == 10
    assert ids.thread(12, 10) == 12
    assert ids.thread(12, 11) == 3
    assert ids.thread(11, 10) == 4
    assert ids.thread(0, 10) == 5
