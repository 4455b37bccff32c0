"""Wave files are read as far as they are whole, by the native reader and by its twin alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture_folders import a_capture, step, write_json
from wavescope.formats.captures import ReadOptions, find_captures, load_capture, wave_columns
from wavescope.formats.captures.wave_columns import Status, WaveColumns
from wavescope.model.capture import Capture
from wavescope.native.library import columns_library

needs_native = pytest.mark.skipif(columns_library() is None, reason="built without native code")


def a_wave(**changes: Any) -> dict[str, Any]:
    wave = {
        "begin": 10,
        "cu": 1,
        "end": 400,
        "id": 0,
        "instructions": [[10, 1, 0, 4, 1], [14, 9, 100, 100, 2], [120, 6, 2, 6, 3]],
        "simd": 2,
        "slot": 3,
        "timeline": [[2, 4], [3, 100], [1, 6]],
        "waitcnt": [[2, [[1, 0], [3, 0]]]],
    }
    return {"duration": 390, "name": "SE0", "num_insts": 3, "wave": wave | changes}


def read_one(data: bytes, *, native: bool = True, events: int = 1000) -> tuple[Any, ...]:
    columns = WaveColumns(max(len(data), 100), events)
    if not native:
        columns._library = None
    status, facts = columns.add(data)
    return (
        status,
        facts,
        columns.time[: columns.event_count].tolist(),
        columns.category[: columns.event_count].tolist(),
        columns.stall[: columns.event_count].tolist(),
        columns.duration[: columns.event_count].tolist(),
        columns.line[: columns.event_count].tolist(),
        columns.wait_line[: columns.list_count].tolist(),
        columns.producer_end[: columns.list_count].tolist(),
        columns.producer_line[: columns.producer_count].tolist(),
    )


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_native), False])
def test_a_whole_file_gives_every_value(native: bool) -> None:
    found = read_one(json.dumps(a_wave()).encode(), native=native)

    assert found[0] is Status.WHOLE
    assert found[1] == (10, 400, 1, 0, 2, 3, 0)
    assert found[2:] == (
        [10, 14, 120],
        [1, 9, 6],
        [0, 100, 2],
        [4, 100, 6],
        [1, 2, 3],
        [2],
        [2],
        [1, 3],
    )


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_native), False])
@pytest.mark.parametrize(
    ("tuples", "lines", "unusable"),
    [
        ([[1, 2, 3, 4, 5, 6, "more"]], [5], 0),
        ([[1, 2, 3, 4]], [], 1),
        ([[1, 2, 3, 4, None]], [], 1),
        ([[1, 2, 2**40, 4, 5]], [], 1),
        ([[1, 2, 3, 4, 2**40]], [-1], 0),
        ([[10**30, 2, 3, 4, 5], [1, 2, 3, 4, 7]], [7], 1),
        (["x", {"a": [1]}, [1, 2, 3, 4, 9]], [9], 2),
        ([[1, 2, -3, 4, 5]], [], 1),
        (None, [], 0),
        ([], [], 0),
    ],
)
def test_odd_tuples_are_left_out_and_counted(
    native: bool, tuples: Any, lines: list[int], unusable: int
) -> None:
    found = read_one(json.dumps(a_wave(instructions=tuples)).encode(), native=native)

    assert found[0] is Status.WHOLE
    assert found[6] == lines
    assert found[1].unusable == unusable


@needs_native
@settings(max_examples=150)
@given(st.integers(0, 420))
def test_a_file_cut_anywhere_gives_the_same_from_both_readers(length: int) -> None:
    text = json.dumps(a_wave()).encode()
    cut = text[: min(length, len(text) - 1)]

    assert read_one(cut) == read_one(cut, native=False)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=20,
)
_TUPLES = st.lists(st.lists(st.integers(-5, 300), min_size=3, max_size=7) | _JSON, max_size=6)


@needs_native
@settings(max_examples=150)
@given(
    events=_TUPLES | _JSON,
    states=_TUPLES,
    lists=_JSON | st.lists(st.tuples(st.integers(0, 9), _TUPLES)),
)
def test_any_content_gives_the_same_from_both_readers(events: Any, states: Any, lists: Any) -> None:
    text = json.dumps(a_wave(instructions=events, timeline=states, waitcnt=lists)).encode()

    assert read_one(text) == read_one(text, native=False)


@needs_native
@settings(max_examples=200)
@given(st.binary(max_size=80), st.integers(0, 300))
def test_any_bytes_are_survived(garbage: bytes, place: int) -> None:
    text = json.dumps(a_wave()).encode()
    spoiled = text[:place] + garbage + text[place + len(garbage) :]

    for native in (True, False):
        status = read_one(spoiled, native=native)[0]
        assert status in set(Status)


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_native), False])
def test_full_columns_stay_as_they_were(native: bool) -> None:
    found = read_one(json.dumps(a_wave()).encode(), native=native, events=2)

    assert found[0] is Status.FULL
    assert found[2] == []
    assert found[7] == []


def a_folder(tmp_path: Path) -> Path:
    builder = a_capture().with_code(
        "s_load_dword s0, s[2:3], 0x0", "s_waitcnt lgkmcnt(0)", "s_endpgm"
    )
    for slot in range(3):
        builder.with_wave([step(1), step(2, stall=10 * slot), step(3)], slot=slot)
    return builder.write(tmp_path)


def read(folder: Path, **options: Any) -> Capture:
    (location,) = find_captures([folder])
    return load_capture(location, ReadOptions(**options))


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_native), False])
def test_missing_cut_and_foreign_wave_files_leave_the_rest(
    tmp_path: Path, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(wave_columns, "columns_library", lambda: None)
    folder = a_folder(tmp_path)
    (folder / "se0_sm0_sl0_wv0.json").unlink()
    cut = (folder / "se0_sm0_sl1_wv0.json").read_text()
    (folder / "se0_sm0_sl1_wv0.json").write_text(cut[: cut.index("],[") + 1])

    capture = read(folder)

    assert capture.waves.slot.tolist() == [1, 2]
    assert capture.waves.is_partial.tolist() == [True, False]
    assert capture.waves.row[capture.waves.events(0)].tolist() == [1]
    assert capture.waves.row[capture.waves.events(1)].tolist() == [1, 2, 3]
    assert capture.missing[0] == "1 of 3 wave files are missing"
    assert "end early" in capture.missing[1]

    (folder / "se0_sm0_sl2_wv0.json").write_text("[]")
    capture = read(folder)
    assert capture.waves.slot.tolist() == [1]
    assert any("unreadable" in sentence for sentence in capture.missing)


def test_lists_of_names_may_not_lead_outside(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    write_json(tmp_path / "outside.json", a_wave())
    names = {"0": {"0": {"0": {"0": ["../outside.json", 0, 1], "x": ["a", 0, 1], "7": 5}}}}
    write_json(folder / "filenames.json", {"gfxip": 9, "wave_filenames": names})

    capture = read(folder)

    assert len(capture.waves) == 0
    assert capture.missing == ("3 entries of filenames.json name no file of the capture",)


def test_without_filenames_json_the_names_tell(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    (folder / "filenames.json").unlink()

    assert read(folder).waves.slot.tolist() == [0, 1, 2]


def test_more_events_than_allowed_are_left_out_and_said(tmp_path: Path) -> None:
    capture = read(a_folder(tmp_path), most_events=7)

    assert len(capture.waves) == 2
    assert capture.waves.event_count == 6
    assert "only 2 of 3 wave files are read" in capture.missing[0]


def test_waves_can_be_left_out(tmp_path: Path) -> None:
    capture = read(a_folder(tmp_path), reads_waves=False)

    assert len(capture.waves) == 0
    assert not capture.is_partial
    assert capture.facts.expected_waves == 3


def test_line_numbers_need_not_be_row_numbers(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    document = json.loads((folder / "code.json").read_text())
    document["code"].insert(1, ["; helper", 0, 900, "", 1, 0, 0, 0, 0, 0])
    write_json(folder / "code.json", document)

    capture = read(folder)

    assert capture.waves.row[capture.waves.events(0)].tolist() == [2, 3, 4]
    assert capture.instructions.text[2].startswith("s_load")
