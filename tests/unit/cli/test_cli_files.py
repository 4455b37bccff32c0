"""Commands that write files: convert, merge, trim."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.chunks import a_process
from tests.unit.cli.conftest import Run
from wavescope.cli.convert import default_name
from wavescope.formats import open_trace


def ops(path: Path) -> list[tuple[int, int, int]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT gpuId, start, end FROM rocpd_op WHERE gpuId >= 0 ORDER BY start"
        ).fetchall()


ALL_OPS = [(0, 1_000, 2_000), (1, 2_000, 6_000), (0, 4_000, 7_000)]


@pytest.fixture
def in_its_folder(trace_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the trace is the current one."""
    monkeypatch.chdir(trace_file.parent)


@pytest.mark.parametrize(
    ("name", "suffix", "expected"),
    [
        ("trace.db", ".pftrace", "trace.pftrace"),
        ("profile.pt.trace.json.gz", ".db", "profile.db"),
        ("run.rpd", ".json", "run.json"),
        ("no-suffix", ".csv", "no-suffix.csv"),
        ("v1.2", ".db", "v1.2.db"),
        (".db", ".json", ".db.json"),
    ],
)
def test_default_names_replace_known_endings(name: str, suffix: str, expected: str) -> None:
    assert default_name(name, suffix) == expected


def test_convert_names_the_file_and_the_next_step(
    run: Run, trace_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    ran = run("export", trace_file)

    assert (ran.code, ran.out) == (0, "")
    assert (work / "trace.pftrace").stat().st_size > 0
    assert ran.err.startswith("wrote trace.pftrace (perfetto, ")
    assert ran.err.endswith("next: open it at https://ui.perfetto.dev\n")


def test_formats_of_many_files_get_a_folder(
    run: Run, trace_file: Path, in_its_folder: None
) -> None:
    assert run("convert", trace_file, "--format", "csv-folder").code == 0
    assert (trace_file.parent / "trace-csv" / "ops.csv").is_file()


def test_convert_back_to_a_trace_file_keeps_the_ops(
    run: Run, trace_file: Path, tmp_path: Path
) -> None:
    ran = run("convert", trace_file, "-o", tmp_path / "copy.db")

    assert ran.code == 0
    assert ops(tmp_path / "copy.db") == ALL_OPS
    assert ran.err.endswith(f"next: wavescope summary {shlex.quote(str(tmp_path / 'copy.db'))}\n")


def test_convert_filters(run: Run, trace_file: Path, tmp_path: Path) -> None:
    run("convert", trace_file, "-o", tmp_path / "part.db", "--gpu", "0", "--start", "2us")

    assert ops(tmp_path / "part.db") == [(0, 4_000, 7_000)]


def test_convert_to_stdout(run: Run, trace_file: Path) -> None:
    ran = run("convert", trace_file, "-o", "-", "--format", "chrome-json")

    assert (ran.code, ran.err) == (0, "")
    names = [event.get("name") for event in json.loads(ran.out)["traceEvents"]]
    assert "gemm" in names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "-"), "-o - needs a format"),
        (("-o", "-", "--format", "csv-folder"), "csv-folder writes several files"),
        (("-o", "-", "--format", "chrome-json", "--json"), "both write to standard output"),
        (("-o", "trace.xyz"), "does not say which format to write"),
        (("-o", "trace.json", "--format", "nope"), "there is no format 'nope'"),
        (("-o", "absent/trace.json"), "the folder absent does not exist"),
    ],
)
def test_impossible_conversions(
    run: Run, trace_file: Path, in_its_folder: None, arguments: tuple[str, ...], message: str
) -> None:
    ran = run("convert", trace_file, *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert [path.name for path in trace_file.parent.iterdir()] == ["trace.db"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "TRACE", "-o", "/proc/x.json"),
        ("trim", "TRACE", "--gpu", "0", "-o", "/proc/x.json"),
        ("merge", "TRACE", "-o", "/proc/x.json"),
        ("report", "TRACE", "-o", "/proc/x.json"),
        ("flame", "TRACE", "-o", "/proc/x.json"),
        ("ranks", "TRACE", "-o", "/proc/x.json"),
        ("recover", "SESSION", "-o", "/proc/x.json"),
        ("attach", "1", "-o", "/proc/x.json"),
        ("trace", "-o", "/proc/x.json", "true"),
        ("softgpu", "--tiny-model", "/proc/x.json"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_where_nothing_can_be_written_the_output_is_named_as_it_was_given(
    run: Run, trace_file: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    session = a_process(tmp_path / "session").with_marker("step", 1, 2, id=1).write()
    paths = {"TRACE": trace_file, "SESSION": session}

    ran = run(*(paths.get(argument, argument) for argument in arguments))

    assert ran.code == 4
    error, hint = ran.err.splitlines()[-2:]
    assert re.fullmatch(r"error: (cannot write )?/proc/x\.json: No such file or directory", error)
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("command", ["convert", "trim"])
def test_nothing_is_overwritten_without_force(
    run: Run, trace_file: Path, tmp_path: Path, command: str
) -> None:
    target = tmp_path / "out.db"
    target.write_bytes(b"mine")
    arguments = (command, trace_file, "-o", target, "--gpu", "0")

    refused = run(*arguments)
    assert (refused.code, target.read_bytes()) == (2, b"mine")
    assert refused.err.endswith("hint: choose another -o, or add --force\n")
    assert run(*arguments, "--force").code == 0
    assert ops(target) == [(0, 1_000, 2_000), (0, 4_000, 7_000)]


@pytest.mark.parametrize("command", ["convert", "trim", "merge"])
def test_an_input_is_never_overwritten(run: Run, trace_file: Path, command: str) -> None:
    before = trace_file.read_bytes()
    filters = ("--gpu", "0") if command == "trim" else ()

    ran = run(command, trace_file, "-o", trace_file, "--force", *filters)

    assert ran.code == 2
    assert "is also an input" in ran.err
    assert trace_file.read_bytes() == before


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (("--end", "40%"), ALL_OPS[:2]),
        (("--start", "2us"), ALL_OPS[2:]),
        (("--marker", "prefill"), ALL_OPS[:2]),
        (("--gpu", "1"), [ALL_OPS[1]]),
        (("--rank", "0"), [ALL_OPS[0], ALL_OPS[2]]),
        (("--kernel", "gemm"), ALL_OPS[:1]),
    ],
)
def test_trim_keeps_the_part(
    run: Run,
    trace_file: Path,
    tmp_path: Path,
    filters: tuple[str, ...],
    expected: list[tuple[int, int, int]],
) -> None:
    ran = run("trim", trace_file, "-o", tmp_path / "part.db", *filters)

    assert ran.code == 0
    assert ops(tmp_path / "part.db") == expected


def test_trim_needs_a_filter(run: Run, trace_file: Path, tmp_path: Path) -> None:
    ran = run("trim", trace_file, "-o", tmp_path / "part.db")

    assert ran.code == 2
    assert "no filter was given" in ran.err


def test_a_failed_trim_leaves_nothing_behind(run: Run, trace_file: Path, tmp_path: Path) -> None:
    ran = run("trim", trace_file, "-o", tmp_path / "part.db", "--marker", "absent")

    assert ran.code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["trace.db"]


def test_merge_keeps_both_and_tells_ranks_by_name(
    run: Run, trace_file: Path, tmp_path: Path
) -> None:
    from tests.builders import a_trace
    from wavescope.formats.wavescope.writing import write_trace

    for rank in (0, 3):
        maker = a_trace().with_kernel("k", 10 * rank, 10 * rank + 5)
        write_trace([maker.builder], tmp_path / f"rank{rank}.db")
    target = tmp_path / "all.db"

    ran = run(
        "merge", tmp_path / "rank0.db", tmp_path / "rank3.db", "-o", target, "--rank-from", "name"
    )

    assert ran.code == 0
    assert ran.err.startswith(f"wrote {target} (wavescope, ")
    assert ops(target) == [(0, 0, 5), (1, 30, 35)]
    with open_trace(target) as merged:
        assert merged.processes["rank"].tolist() == [0, 3]


def test_written_files_are_reported_as_json(run: Run, trace_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.db"

    ran = run("trim", trace_file, "-o", target, "--gpu", "0", "--json", "-q")

    assert ran.err == ""
    assert json.loads(ran.out)["facts"] == {
        "path": str(target),
        "format": "wavescope",
        "size_bytes": target.stat().st_size,
    }


def test_a_folder_without_permission_is_this_machines_trouble(
    run: Run, trace_file: Path, tmp_path: Path
) -> None:
    import os

    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)

    assert run("convert", trace_file, "-o", folder / "out.db").code == 4


@pytest.mark.parametrize(
    "arguments",
    [("trim", "-o", "part.db"), ("convert", "-o", "part.json"), ("summary", "--json")],
    ids=lambda arguments: arguments[0],
)
def test_filters_that_leave_nothing_are_told(
    run: Run, trace_file: Path, in_its_folder: None, arguments: tuple[str, ...]
) -> None:
    command, *others = arguments

    empty = run(command, trace_file, *others, "--gpu", "7")
    (trace_file.parent / "part.db").unlink(missing_ok=True)
    (trace_file.parent / "part.json").unlink(missing_ok=True)
    filled = run(command, trace_file, *others, "--gpu", "0")

    assert (empty.code, filled.code) == (0, 0)
    assert empty.err.startswith("note: no GPU op passes the filters")
    assert "no GPU op passes" not in filled.err


def test_formats_are_named_in_any_case(run: Run, trace_file: Path, in_its_folder: None) -> None:
    assert run("convert", trace_file, "-o", "x", "--format", "Perfetto").code == 0
