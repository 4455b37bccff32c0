"""roctx markers of real programs, as the collector writes them: no GPU and no ROCm is needed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wavescope
from tests.program_builds import built_program
from tests.recorded import (
    MARK,
    NVTX,
    OPEN,
    OTHER_THREAD,
    PATIENCE_S,
    PROGRAMS,
    RANGE,
    START_STOP,
    ProcessFiles,
    only_process,
    processes,
    recording_environment,
    run_program,
)

SCENARIOS = "roctx_scenarios.py"


def recorded(
    folder: Path, scenario: str, *arguments: str, **settings: str
) -> tuple[ProcessFiles, object]:
    """Run a scenario as one recorded process: what it left and what it printed."""
    environment = recording_environment(folder, **settings)
    said = run_program(SCENARIOS, scenario, *arguments, environment=environment)
    return only_process(folder), said


def kinds(process: ProcessFiles) -> dict[str, int]:
    texts = process.texts()
    return {texts[row["text"]]: int(row["kind"]) for row in process.markers()}


def test_the_seeds_example_runs_verbatim(tmp_path: Path) -> None:
    run_program("seed_markers.py", environment=recording_environment(tmp_path))

    process = only_process(tmp_path)
    prefill, decode = process.markers()
    assert process.marker_texts() == ["prefill", "decode"]
    assert (prefill["kind"], decode["kind"]) == (RANGE, RANGE)
    assert prefill["start"] < prefill["end"] <= decode["start"] < decode["end"]
    assert process.facts("end")[0]["reason"] == "exit"


def test_marks_and_nested_ranges(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "nesting")

    assert said == {"levels": [-1, 0, 1, 1, 1, 1, 0, -1], "version": [4, 1]}
    assert process.marker_texts() == ["outer", "inner", "point", "second", "alone"]
    assert kinds(process) == {
        "outer": RANGE, "inner": RANGE, "point": MARK, "second": RANGE, "alone": MARK,
    }  # fmt: skip
    rows = np.sort(process.markers(), order="id")
    assert rows["id"].tolist() == [1, 2, 3, 4, 5]
    assert rows["parent"].tolist() == [0, 1, 2, 1, 0]
    assert rows["depth"].tolist() == [0, 1, 2, 1, 0]
    outer, inner, point, second, alone = rows
    assert outer["start"] < inner["start"] <= point["start"] <= inner["end"] <= second["start"]
    assert second["end"] <= outer["end"] <= alone["start"] == alone["end"]


def test_without_an_output_the_functions_still_answer(tmp_path: Path) -> None:
    environment = recording_environment(tmp_path)
    del environment["WAVESCOPE_OUTPUT"]

    said = run_program(SCENARIOS, "nesting", environment=environment)

    assert said["levels"] == [-1, 0, 1, 1, 1, 1, 0, -1]
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_does_not_disturb(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")

    said = run_program(SCENARIOS, "nesting", environment=recording_environment(blocked))

    assert said["levels"] == [-1, 0, 1, 1, 1, 1, 0, -1]


@pytest.mark.parametrize("times", [50, 5_000, 50_000])
def test_a_program_that_has_no_more_memory_goes_on(times: int, tmp_path: Path) -> None:
    program = built_program(PROGRAMS / "marks_without_memory.c", tmp_path / "program")
    folder = tmp_path / "session"
    folder.mkdir()

    done = subprocess.run(
        [program, str(times)],
        env=recording_environment(folder),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (7, b"", b"")
    process = only_process(folder)
    notes = {fact["text"]: fact["count"] for fact in process.facts("note")}
    refused = notes.get("markers not recorded: the process could have no more memory", 0)
    assert len(process.markers()) + refused == 1 + 2 * times
    assert "texts not recorded: the process could have no more memory" in notes


def test_odd_texts(tmp_path: Path) -> None:
    process, _ = recorded(tmp_path, "odd_texts")

    none, broken, empty, long, foreign = process.marker_texts()
    assert (none, empty, foreign) == ("", "", "größe µs 名前")
    assert broken == "\ufffd\ufffd broken \ufffd"
    assert long == "x" * 65536


def test_thousands_of_nested_ranges(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "deep", "70000")

    assert said == {"pushed": True, "popped": True}
    rows = np.sort(process.markers(), order="id")
    assert len(rows) == 70_000
    assert set(rows["kind"]) == {RANGE}
    assert rows["parent"].tolist() == list(range(70_000))
    assert rows["depth"].tolist() == np.minimum(np.arange(70_000), 65535).tolist()
    assert (np.diff(rows["end"].astype(np.int64)) <= 0).all()


def test_threads_keep_their_own_ranges(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "threads")
    assert isinstance(said, dict)

    texts, rows = process.texts(), process.markers()
    for number, thread in enumerate(said["workers"]):
        own = rows[rows["thread"] == thread]
        assert [texts[row["text"]] for row in own] == [
            f"thread {number} step {step}" for step in range(100)
        ]
        assert set(own["kind"]) == {RANGE}
        assert set(own["parent"]) == {0}
    named = {fact["thread"]: fact["name"] for fact in process.facts("thread")}
    assert named == {thread: f"worker {i}" for i, thread in enumerate(said["workers"])}


def test_ranges_left_open_by_a_thread_end_with_it(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "threads")
    assert isinstance(said, dict)

    outer, inner = process.marker("left open"), process.marker("left open inside")
    assert (outer["kind"], inner["kind"]) == (OPEN, OPEN)
    assert (outer["thread"], inner["thread"]) == (said["left"], said["left"])
    assert inner["parent"] == outer["id"]
    assert inner["start"] < outer["end"] == inner["end"] <= process.facts("end")[0]["ns"]


def test_ranges_stopped_by_another_thread_are_flagged(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "stop_elsewhere")

    pushed, first = process.marker("pushed"), process.marker("first")
    second, never = process.marker("second"), process.marker("never stopped")
    assert said == {"ids": [first["id"], second["id"]]}
    assert (first["kind"], first["flags"]) == (RANGE, START_STOP)
    assert (second["kind"], second["flags"]) == (RANGE, START_STOP | OTHER_THREAD)
    assert (never["kind"], never["flags"], never["end"]) == (OPEN, START_STOP, 0)
    assert first["start"] < second["start"] < first["end"] < second["end"]
    assert {row["parent"] for row in (first, second, never)} == {pushed["id"]}
    assert (pushed["kind"], pushed["flags"]) == (RANGE, 0)


def test_a_killed_process_keeps_its_open_ranges(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(PROGRAMS / SCENARIOS), "wait_inside"],
        env=recording_environment(tmp_path),
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline()
        program.kill()
        assert program.wait() == -signal.SIGKILL

    process = only_process(tmp_path)
    assert kinds(process) == {"closed": RANGE, "outer": OPEN, "inner": OPEN, "started": OPEN}
    assert process.marker("inner")["parent"] == process.marker("outer")["id"]
    assert process.marker("inner")["end"] == 0
    assert process.facts("end") == []


def test_a_forked_child_writes_its_own_files(tmp_path: Path) -> None:
    environment = recording_environment(tmp_path)

    said = run_program(SCENARIOS, "fork", environment=environment)

    assert said["status"] == 0
    parent, child = processes(tmp_path)
    assert child.pid == said["child"]
    assert parent.marker_texts() == ["before the fork", "started before the fork", "parent"]
    assert set(parent.markers()["kind"]) == {RANGE}
    assert parent.marker("parent")["parent"] == parent.marker("before the fork")["id"]
    assert child.marker_texts() == ["child", "child mark"]
    assert kinds(child) == {"child": RANGE, "child mark": MARK}
    assert child.marker("child")["depth"] == 1
    assert child.marker("child")["parent"] == 0
    assert set(child.markers()["thread"]) == {child.pid}
    assert [fact["reason"] for fact in parent.facts("end")] == ["exit"]


def test_a_hundred_thousand_markers(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "many", "100000")

    assert said == {"marked": 100_000}
    rows = process.markers()
    assert len(rows) == 100_000
    assert np.sort(rows["id"]).tolist() == list(range(1, 100_001))
    assert (rows["kind"] == RANGE).sum() == (rows["kind"] == MARK).sum() == 50_000
    assert (rows["end"] >= rows["start"]).all()
    assert len(process.texts()) == 1 + 1000 + 1


def test_nothing_is_recorded_while_paused(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "paused")

    assert said == {"returned": [0, 0, 1, 0]}
    assert kinds(process) == {"across": RANGE, "after resume": MARK, "after": MARK}
    assert process.marker("after resume")["parent"] == process.marker("across")["id"]
    assert process.marker("after")["parent"] == 0


def test_recording_can_start_paused(tmp_path: Path) -> None:
    process, _ = recorded(tmp_path, "paused", WAVESCOPE_START_PAUSED="1")

    assert kinds(process) == {"after resume": MARK, "after": MARK}


def test_names_become_facts(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "names")

    assert said == {"returned": [0, 0, 0, 0, 0, 0, -1], "is_own": True}
    (thread,) = process.facts("thread")
    assert (thread["thread"], thread["name"]) == (process.pid, "main loop")
    labels = [(fact["what"], fact["id"], fact["name"]) for fact in process.facts("label")]
    assert labels == [
        ("hip_device", 1, "left GPU"),
        ("hip_stream", 0xABCD, "copies"),
        ("hsa_agent", 0x1234, "agent"),
    ]


def test_nvtx_shares_the_nesting(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "nvtx")

    assert said == {"levels": [0, 1, 1, 0, -1]}
    assert process.marker("nvtx range")["flags"] == NVTX
    assert process.marker("roctx range")["flags"] == 0
    assert process.marker("roctx range")["parent"] == process.marker("nvtx range")["id"]
    assert process.marker("nvtx mark")["flags"] == NVTX
    assert process.marker("nvtx started")["flags"] == NVTX | START_STOP


def test_a_full_budget_loses_markers_and_says_so(tmp_path: Path) -> None:
    process, said = recorded(tmp_path, "many", "100000", WAVESCOPE_MAX_BYTES="200000")

    assert said is not None
    assert 0 < len(process.markers()) < 100_000
    lost = [fact for fact in process.facts("note") if fact["text"].startswith("markers not")]
    assert lost[0]["count"] > 0


def test_a_full_budget_keeps_the_newest_markers_where_these_are_wanted(tmp_path: Path) -> None:
    settings = {"WAVESCOPE_MAX_BYTES": "200000", "WAVESCOPE_KEEP": "newest"}
    process, said = recorded(tmp_path, "many", "100000", **settings)

    assert said == {"marked": 100_000}
    ids = process.markers()["id"].tolist()
    assert ids == list(range(100_001 - len(ids), 100_001))
    kept_bytes = 64 * len(ids) + Path(f"{process.base}.text").stat().st_size
    assert 150_000 < kept_bytes <= 200_000
    assert process.facts("note") == []
    with wavescope.open(tmp_path) as trace:
        assert len(trace.markers) == len(ids)
        names = trace.markers.strings("name")
        assert names[-2:] == ["step 999", "mark"] and "" not in names
        reason = "older than the newest records, which are all that --max-size keeps"
        assert dict(trace.notes)[f"markers that are not in the trace: {reason}"] == 100_000 - len(
            ids
        )


def test_markers_of_the_python_interface(tmp_path: Path) -> None:
    run_program("python_markers.py", environment=recording_environment(tmp_path))

    process = only_process(tmp_path)
    assert process.marker_texts() == ["prefill", "step", "step 0", "request", "request"]
    rows = np.sort(process.markers(), order="id")
    assert rows["kind"].tolist() == [RANGE, RANGE, MARK, RANGE, RANGE]
    assert rows["parent"].tolist() == [0, 1, 2, 0, 0]
    assert rows["flags"].tolist() == [0, 0, 0, START_STOP, START_STOP]
    first, second = rows[3:]
    assert first["start"] < second["start"] < first["end"]


def test_the_session_opens_as_a_trace(tmp_path: Path) -> None:
    recorded(tmp_path, "nesting")

    with wavescope.open(tmp_path) as trace:
        markers = trace.markers.to_pandas()

    assert markers["name"].tolist() == ["outer", "inner", "point", "second", "alone"]


def test_a_range_left_by_its_thread_does_not_span_the_rest(tmp_path: Path) -> None:
    process, _ = recorded(tmp_path, "threads")

    with wavescope.open(tmp_path) as trace:
        markers = trace.markers.to_pandas().set_index("name")

    assert markers.loc["left open", "end_ns"] == process.marker("left open")["end"]


@pytest.fixture
def real_roctx(tmp_path: Path) -> Path:
    """A library that stands for libroctx64: it says on stderr what it is asked for."""
    source = tmp_path / "real_roctx.c"
    source.write_text(
        """
        #include <stdio.h>
        #include <stdint.h>
        void roctxMarkA(const char* m) { fprintf(stderr, "mark %s;", m); }
        int roctxRangePushA(const char* m) { fprintf(stderr, "push %s;", m); return 7; }
        int roctxRangePop(void) { fprintf(stderr, "pop;"); return 7; }
        uint64_t roctxRangeStartA(const char* m) { fprintf(stderr, "start %s;", m); return 4711; }
        void roctxRangeStop(uint64_t id) { fprintf(stderr, "stop %d;", (int)id); }
        """
    )
    library = tmp_path / "libroctx64.so.4"
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(source)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no C compiler to build a second roctx library with")
    return library


@pytest.mark.parametrize("records", [True, False])
def test_the_real_library_is_called_too(tmp_path: Path, real_roctx: Path, records: bool) -> None:
    session = tmp_path / "session"
    environment = recording_environment(session)
    if not records:
        del environment["WAVESCOPE_OUTPUT"]
    # As a framework does: the real library is loaded, but outside of the global list.
    program = f"""
import ctypes
real = ctypes.CDLL({str(real_roctx)!r})
lib = ctypes.CDLL(None)
lib.roctxRangeStartA.restype = lib.roctxRangeStop.restype = ctypes.c_uint64
lib.roctxMarkA(b"m")
print(lib.roctxRangePushA(b"p"), lib.roctxRangePop())
lib.roctxRangeStop(ctypes.c_uint64(lib.roctxRangeStartA(b"s")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout == "0 0\n"
    assert done.stderr == "mark m;push p;pop;start s;stop 4711;"
    assert session.exists() == records
    if records:
        assert only_process(session).marker_texts() == ["m", "p", "s"]


def test_threads_that_fork_while_others_mark(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler to build a program with threads that fork")
    program, session = tmp_path / "forking_threads", tmp_path / "session"
    source = PROGRAMS / "forking_threads.c"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, source, "-ldl"], check=True)

    done = subprocess.run(
        [str(program)], env=recording_environment(session), timeout=PATIENCE_S, check=False
    )

    assert done.returncode == 0
    left = [process.marker_texts() for process in processes(session)]
    assert sorted(left, key=len) == [["child"] * 11] * 20 + [["parent"] * 1000]
