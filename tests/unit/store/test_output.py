"""Outputs are whole or untouched, never over an input, never over a file without force."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wavescope.errors import OutputExistsError, UsageError
from wavescope.store.output import replaced


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


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.csv").write_text("old")

    with replaced(tmp_path / "out", [], force=True, is_folder=True) as temporary:
        (temporary / "new.csv").write_text("new")

    assert names(tmp_path / "out") == ["new.csv"]


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
