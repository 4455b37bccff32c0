"""Every folder that wavescope makes for a user is listed, and nothing of anybody else's."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run, run  # noqa: F401  a fixture
from wavescope.collect.doctor import kept_folders
from wavescope.collect.running_sessions import sessions_folder
from wavescope.collect.runtimes import cache_folder
from wavescope.collect.softgpu import softgpu_environment
from wavescope.view.opening.cache import lane_cache


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a user who has nothing yet."""
    folders = {"HOME": "home", "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp"}
    for name, folder in folders.items():
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return {name: str(tmp_path / folder) for name, folder in folders.items()}


def test_nobody_has_folders_before_anything_ran(home: dict[str, str]) -> None:
    assert kept_folders(home) == []


def test_what_each_part_makes_is_listed(home: dict[str, str]) -> None:
    made = [cache_folder(home), lane_cache._users_folder(home)]
    for folder in made:
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"12345")
    made.append(sessions_folder(home))
    variables = softgpu_environment("gfx90a", home)
    below = Path(home["HOME"]) / ".cache" / "wavescope" / "softgpu"
    assert any(str(below) in value for value in variables.values())

    listed = {kept.folder: kept.size_bytes for kept in kept_folders(home)}

    assert set(listed) == {*made, below}
    assert listed[made[0]] == 5
    assert listed[below] > 100


def test_links_and_files_are_not_folders_of_ours(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    caches = Path(home["HOME"]) / ".cache" / "wavescope"
    caches.mkdir(parents=True)
    (caches / "view").symlink_to(tmp_path / "elsewhere")
    (caches / "softgpu").write_text("")

    assert kept_folders(home) == []


def test_the_command_says_how_to_remove_them(home: dict[str, str], run: Run) -> None:  # noqa: F811
    before = run("doctor", "--caches")
    folder = Path(home["HOME"]) / ".cache" / "wavescope" / "view"
    folder.mkdir(parents=True)
    (folder / "tiles").write_bytes(bytes(2000))

    after = run("doctor", "--caches")

    assert before.out == "wavescope keeps nothing for you on this machine\n"
    assert after.code == 0
    assert after.out == f"{folder}\n  the viewer's cache, 2.000 kB\n  -> rm -rf {folder}\n"
    (row,) = json.loads(run("doctor", "--caches", "--json").out)["tables"][0]["rows"]
    assert row == ["the viewer's cache", 2000, str(folder), f"rm -rf {folder}"]
