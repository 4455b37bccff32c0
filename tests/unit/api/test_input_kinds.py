"""What a path is, told by content."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import wavescope
from tests.capture_folders import a_capture, step
from tests.counters_builder import a_workload
from tests.sample_files import rich_trace, write_as
from wavescope import InputKind
from wavescope.errors import UnknownFormatError, UnreadableInputError

KERNEL_TRACE = (
    '"Kind","Agent_Id","Queue_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Start_Timestamp",'
    '"End_Timestamp"\n"KERNEL_DISPATCH",1,1,1,1,"gemm",10,20\n'
)


def a_trace_file(folder: Path) -> Path:
    return write_as(rich_trace(), folder / "trace.db")


def a_chrome_file(folder: Path) -> Path:
    return write_as(rich_trace(), folder / "trace.json.gz")


def a_csv_folder(folder: Path) -> Path:
    path = folder / "csv"
    path.mkdir()
    (path / "1_kernel_trace.csv").write_text(KERNEL_TRACE)
    return path


def a_capture_folder(folder: Path) -> Path:
    maker = a_capture().with_code("s_waitcnt vmcnt(0)", "s_endpgm")
    return maker.with_wave([step(1, stall=9), step(2)]).write(folder / "captured")


def above_captures(folder: Path) -> Path:
    return a_capture_folder(folder).parent


def beside_a_kernel_trace(folder: Path) -> Path:
    """As rocprofv3 writes it: a kernel trace, and the capture in a folder of its own."""
    above = above_captures(folder)
    (above / "1_kernel_trace.csv").write_text(KERNEL_TRACE)
    return above


def code_file(folder: Path) -> Path:
    return a_capture_folder(folder) / "code.json"


def an_archive(folder: Path, kind: str) -> Path:
    return Path(shutil.make_archive(str(folder / "packed"), kind, above_captures(folder)))


def a_zip(folder: Path) -> Path:
    return an_archive(folder, "zip")


def a_tar(folder: Path) -> Path:
    return an_archive(folder, "gztar")


def a_counter_folder(folder: Path) -> Path:
    return a_workload(folder / "counted").with_dispatch("gemm", 1_000, SQ_WAVES=4).write()


def above_counters(folder: Path) -> Path:
    a_workload(folder / "workloads" / "MI200").with_dispatch("gemm", 1_000, SQ_WAVES=4).write()
    return folder / "workloads"


def counters_with_a_kernel_trace(folder: Path) -> Path:
    path = a_counter_folder(folder)
    (path / "ps_file_kernel_trace.csv").write_text(KERNEL_TRACE)
    return path


def passes_only(folder: Path) -> Path:
    path = a_counter_folder(folder)
    (path / "pmc_perf.csv").rename(path / "pmc_perf_0.csv")
    return path


def counters_with_a_capture(folder: Path) -> Path:
    path = a_counter_folder(folder)
    shutil.copytree(above_captures(folder), path / "att")
    return path


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (a_trace_file, InputKind.TRACE),
        (a_chrome_file, InputKind.TRACE),
        (a_csv_folder, InputKind.TRACE),
        (a_capture_folder, InputKind.CAPTURE),
        (above_captures, InputKind.CAPTURE),
        (beside_a_kernel_trace, InputKind.CAPTURE),
        (code_file, InputKind.CAPTURE),
        (a_zip, InputKind.CAPTURE),
        (a_tar, InputKind.CAPTURE),
        (a_counter_folder, InputKind.COUNTERS),
        (above_counters, InputKind.COUNTERS),
        (counters_with_a_kernel_trace, InputKind.COUNTERS),
        (passes_only, InputKind.COUNTERS),
        (counters_with_a_capture, InputKind.COUNTERS),
    ],
)
def test_the_kind_is_told_by_content(
    tmp_path: Path, make: Callable[[Path], Path], kind: InputKind
) -> None:
    assert wavescope.kind_of(make(tmp_path)) is kind


def an_empty_folder(folder: Path) -> Path:
    path = folder / "empty"
    path.mkdir()
    return path


def other_files(folder: Path) -> Path:
    path = an_empty_folder(folder)
    (path / "notes.csv").write_text("a,b\n1,2\n")
    return path


def a_text(folder: Path) -> Path:
    path = folder / "notes.txt"
    path.write_text("nothing of ours")
    return path


def another_zip(folder: Path) -> Path:
    path = folder / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "nothing of ours")
    return path


@pytest.mark.parametrize("make", [an_empty_folder, other_files, a_text, another_zip])
def test_what_is_nothing_known_is_said_to_be(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)

    with pytest.raises(UnknownFormatError) as caught:
        wavescope.kind_of(path)

    assert str(caught.value) == (
        f"cannot read {path}: it is neither a trace nor a capture nor a counter folder"
    )


def test_what_cannot_be_read_has_no_kind(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()

    with pytest.raises(UnreadableInputError, match="the file is empty"):
        wavescope.kind_of(tmp_path / "empty.db")
    with pytest.raises(UnreadableInputError, match="there is no such file"):
        wavescope.kind_of(tmp_path / "absent.db")


def test_telling_a_trace_loads_no_reader_of_captures_or_counters(tmp_path: Path) -> None:
    code = (
        "import sys, wavescope; wavescope.kind_of(sys.argv[1]); "
        "print([name for name in sys.modules if 'captures' in name or '.counters.' in name])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, a_trace_file(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"


def test_a_capture_says_what_it_is_of(tmp_path: Path) -> None:
    result = wavescope.capture_info(a_capture_folder(tmp_path))

    assert result.table("captures").column("stall") == [9]
    assert result.table("captures").column("kernel") == ["axpy(float*)"]


def test_an_unreadable_capture_is_a_finding_beside_others_and_an_error_alone(
    tmp_path: Path,
) -> None:
    good = a_capture_folder(tmp_path)
    bad = good.parent / "ui_output_agent_7_dispatch_2"
    bad.mkdir()
    (bad / "code.json").write_text("{")

    result = wavescope.capture_info(good.parent)

    assert len(result.table("captures").rows) == 1
    assert [finding.id for finding in result.findings] == ["capture-unreadable"]
    with pytest.raises(UnreadableInputError):
        wavescope.capture_info(bad)


def test_counters_say_what_was_counted(tmp_path: Path) -> None:
    result = wavescope.counters_info(a_counter_folder(tmp_path))

    assert (result.facts["chip"], result.facts["kernel_count"]) == ("gfx90a", 1)
    assert [table.name for table in result.tables] == ["0.1", "0.2"]


def test_the_name_of_a_file_does_not_matter(tmp_path: Path) -> None:
    path = a_trace_file(tmp_path).rename(tmp_path / "trace.zip")

    assert wavescope.kind_of(path) is InputKind.TRACE
