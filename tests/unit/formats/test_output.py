"""Outputs are whole or untouched, never over an input, never over a file without force."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from wavescope.errors import OutputExistsError, UsageError
from wavescope.outputs import replaced, require_free


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_target_appears_when_the_block_ends(tmp_path: Path) -> None:
    with replaced(tmp_path / "out.txt", [], force=False) as temporary:
        temporary.write_text("whole")
        assert not (tmp_path / "out.txt").exists()

    assert (tmp_path / "out.txt").read_text() == "whole"
    assert names(tmp_path) == ["out.txt"]


def test_a_failure_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old")

    with (
        pytest.raises(OSError, match="disk"),
        replaced(tmp_path / "out.txt", [], force=True) as temporary,
    ):
        temporary.write_text("half")
        raise OSError("no space left on disk")

    assert (tmp_path / "out.txt").read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_an_existing_file_is_kept_without_force(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old")

    with (
        pytest.raises(OutputExistsError, match="already exists"),
        replaced(tmp_path / "out.txt", [], force=False),
    ):
        pytest.fail("the block must not run")

    assert (tmp_path / "out.txt").read_text() == "old"


@pytest.mark.parametrize("spelling", ["in.db", "./in.db", "link.db", "hard.db"])
def test_an_input_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "in.db"
    source.write_text("data")
    (tmp_path / "link.db").symlink_to(source)
    os.link(source, tmp_path / "hard.db")

    with (
        pytest.raises(UsageError, match="is also an input"),
        replaced(Path(spelling), [source], force=True),
    ):
        pytest.fail("the block must not run")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="does not exist"),
        replaced(tmp_path / "no" / "out.txt", [], force=False),
    ):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("target", ["file/out.txt", "file/no/out.txt"])
def test_a_file_in_the_place_of_the_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()

    with pytest.raises(UsageError, match=r"^file is not a folder$") as refused:
        require_free(Path(target), [], force=False)

    assert refused.value.hint == "choose another -o"


@pytest.mark.parametrize("force", [False, True])
def test_where_nothing_can_be_written_the_target_is_named_before_any_work(force: bool) -> None:
    target = Path("/proc/out.txt")

    for refuses in (require_free, lambda *given, **ways: replaced(*given, **ways).__enter__()):
        with pytest.raises(OSError, match="No such file") as refused:
            refuses(target, [], force=force)
        assert refused.value.filename == "/proc/out.txt"


def test_asking_whether_it_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    require_free(tmp_path / "out.txt", [], force=False)

    assert names(tmp_path) == []


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "ops.csv").write_text("old")

    with replaced(tmp_path / "out", [], force=True, is_folder=True) as temporary:
        (temporary / "calls.csv").write_text("new")

    assert names(tmp_path / "out") == ["calls.csv"]


@pytest.mark.parametrize("other", ["trace.db", "notes.txt", "ops/x.csv", "ops.csv/x"])
def test_a_folder_with_other_things_is_not_replaced(tmp_path: Path, other: str) -> None:
    kept = tmp_path / "out" / other
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")

    with (
        pytest.raises(UsageError, match="holds something that no export wrote"),
        replaced(tmp_path / "out", [], force=True, is_folder=True),
    ):
        pytest.fail("the block must not run")

    assert kept.read_text() == "mine"


def test_a_file_of_an_input_folder_is_an_input(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    recorded = tmp_path / "run" / "a_kernel_trace.csv"
    recorded.write_text("recorded")

    with (
        pytest.raises(UsageError, match="is also an input"),
        replaced(recorded, [tmp_path / "run"], force=True),
    ):
        pytest.fail("the block must not run")
    with replaced(recorded.with_name("new.csv"), [tmp_path / "run"], force=False) as temporary:
        temporary.write_text("new")

    assert names(tmp_path / "run") == ["a_kernel_trace.csv", "new.csv"]


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_log_left_beside_the_target_does_not_outlive_it(tmp_path: Path, suffix: str) -> None:
    leftover = tmp_path / f"out.db{suffix}"
    leftover.write_text("pages of another file")

    with (
        pytest.raises(OutputExistsError, match=leftover.name),
        replaced(tmp_path / "out.db", [], force=False),
    ):
        pytest.fail("the block must not run")
    with replaced(tmp_path / "out.db", [], force=True) as temporary:
        temporary.write_text("x")

    assert names(tmp_path) == ["out.db"]


@pytest.mark.parametrize("has_name", [True, False])
def test_a_full_disk_is_reported_for_the_target(tmp_path: Path, has_name: bool) -> None:
    with (
        pytest.raises(OSError, match="No space left") as caught,
        replaced(tmp_path / "out.db", [], force=False) as temporary,
    ):
        raise OSError(errno.ENOSPC, "No space left", *([str(temporary)] if has_name else []))

    assert caught.value.filename == str(tmp_path / "out.db")
    assert names(tmp_path) == []


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    with (
        pytest.raises(UsageError, match="is a folder"),
        replaced(tmp_path / "out", [], force=True) as temporary,
    ):
        temporary.write_text("file")

    assert (tmp_path / "out").is_dir()


def test_devices_are_not_replaced() -> None:
    with (
        pytest.raises(UsageError, match="neither a file nor a folder"),
        replaced(Path("/dev/null"), [], force=True),
    ):
        pytest.fail("the block must not run")


def test_the_mode_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replaced(tmp_path / "out.txt", [], force=False) as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)

    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == 0o640
