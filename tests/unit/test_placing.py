"""Outputs are put in their place without a moment, or a failure, in which something is lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from wavescope import placing
from wavescope.errors import OutputExistsError, UsageError
from wavescope.outputs import replaced
from wavescope.placing import alone_in, is_held


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["links and exchanges", "neither"])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the file system can do."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if request.param == "neither":
        monkeypatch.setattr(os, "link", refuse)
        monkeypatch.setattr(placing, "_exchanged", lambda *_: False)
    return str(request.param)


@pytest.mark.usefixtures("file_system")
@pytest.mark.parametrize("others", ["file", "folder", "empty folder", "link"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_what_came_meanwhile_stays(tmp_path: Path, others: str, is_folder: bool) -> None:
    target = tmp_path / "out"
    with (
        pytest.raises(OutputExistsError, match="another process wrote it meanwhile"),
        replaced(target, [], force=False, is_folder=is_folder) as temporary,
    ):
        (temporary / "ops.csv" if is_folder else temporary).write_text("mine")
        if others == "link":
            target.symlink_to("nowhere")
        elif others == "file":
            target.write_text("of another")
        else:
            target.mkdir()
        if others == "folder":
            (target / "ops.csv").write_text("of another")

    assert names(tmp_path) == ["out"]
    if others == "file":
        assert target.read_text() == "of another"
    elif others == "link":
        assert target.readlink() == Path("nowhere")
    else:
        assert names(target) == (["ops.csv"] if others == "folder" else [])


@pytest.mark.usefixtures("file_system")
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_new_output_takes_its_place(tmp_path: Path, is_folder: bool) -> None:
    target = tmp_path / "out"
    with replaced(target, [], force=False, is_folder=is_folder) as temporary:
        (temporary / "ops.csv" if is_folder else temporary).write_text("mine")

    assert (target / "ops.csv" if is_folder else target).read_text() == "mine"
    assert names(tmp_path) == ["out"]


@pytest.mark.usefixtures("file_system")
def test_a_folder_that_others_put_files_into_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "ops.csv").write_text("old")
    with (
        pytest.raises(UsageError, match=f"{target} holds something that no export wrote: notes"),
        replaced(target, [], force=True, is_folder=True) as temporary,
    ):
        (temporary / "ops.csv").write_text("new")
        (target / "notes.txt").write_text("mine")

    assert {path.name: path.read_text() for path in target.iterdir()} == {
        "ops.csv": "old",
        "notes.txt": "mine",
    }
    assert names(tmp_path) == ["out"]


def test_a_folder_is_put_back_when_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "ops.csv").write_text("old")
    rename = Path.rename

    def fails_for_the_new_one(self: Path, to: Path) -> Path:
        if self.name == "out" and self != target and to == target:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, to)

    monkeypatch.setattr(placing, "_exchanged", lambda *_: False)
    monkeypatch.setattr(Path, "rename", fails_for_the_new_one)
    with (
        pytest.raises(OSError, match="Input/output error"),
        replaced(target, [], force=True, is_folder=True) as temporary,
    ):
        (temporary / "ops.csv").write_text("new")

    assert (target / "ops.csv").read_text() == "old"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("other", ["file", "link"])
def test_a_folder_replaces_nothing_but_a_folder(tmp_path: Path, other: str) -> None:
    target, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if other == "file":
        target.write_text("mine")
    else:
        target.symlink_to(elsewhere)
    with (
        pytest.raises(UsageError, match="is not a folder"),
        replaced(target, [], force=True, is_folder=True),
    ):
        pass

    assert names(tmp_path) == ["elsewhere", "out"]
    assert target.is_symlink() if other == "link" else target.read_text() == "mine"


def test_only_one_works_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "workloads" / "vcopy"
    with alone_in(folder):
        assert is_held(folder)
        with (
            pytest.raises(UsageError, match=f"another process is writing into {folder}"),
            alone_in(folder),
        ):
            pytest.fail("the block must not run")
        assert folder.is_dir()

    assert not is_held(folder)
    with alone_in(folder):
        pass


def test_folders_that_were_made_for_nothing_are_taken_back(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no"), alone_in(tmp_path / "a" / "b"):
        raise UsageError("no")

    assert names(tmp_path) == []
