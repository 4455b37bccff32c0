"""The folder of kept lanes: private, within its size, and not believed where it is damaged."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from wavescope.view.lanes import Lane
from wavescope.view.opening import CacheOptions
from wavescope.view.opening.cache import KeptLanes, LaneCache, content_key, lane_cache
from wavescope.view.rows import OpPlace

KEY = "a" * 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "wavescope" / "view"


def kept(starts: list[int], place: OpPlace | None = None) -> KeptLanes:
    count = len(starts)
    lane = Lane(
        np.array(starts, np.int64),
        np.full(count, 3, np.uint32),
        np.arange(count, dtype=np.int32),
        np.arange(count, dtype=np.uint32),
    )
    return KeptLanes({place or OpPlace(0, 1): (lane,)}, (starts[0], starts[-1] + 3))


def a_cache(folder: Path, **given: object) -> LaneCache:
    return LaneCache(CacheOptions(folder=folder, fewest_ranges=1), {}, **given)  # type: ignore[arg-type]


def starts_in(found: KeptLanes | None) -> list[int]:
    assert found is not None
    ((lane,),) = found.lanes.values()
    return lane.starts.tolist()  # type: ignore[no-any-return]


def test_the_key_tells_size_time_content_and_format(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = bytearray(range(256)) * 10_000
    path.write_bytes(content)
    os.utime(path, ns=(5, 5))
    key = content_key(path, "wavescope")
    assert len(key) == 40

    other = tmp_path / "other name \n\udcff"
    other.write_bytes(content)
    os.utime(other, ns=(5, 5))
    assert content_key(other, "wavescope") == key
    assert content_key(path, "rpd") != key
    os.utime(path, ns=(5, 6))
    assert content_key(path, "wavescope") != key
    for place in (0, len(content) - 1, 7 * (len(content) - (1 << 16)) // 15 + 99):
        content[place] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(5, 5))
        assert content_key(path, "wavescope") != key
        content[place] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(5, 5))
    assert content_key(path, "wavescope") == key
    (tmp_path / "file-wal").write_bytes(b"rows")
    assert content_key(path, "wavescope") != key


def test_folders_have_keys_of_all_their_files(tmp_path: Path) -> None:
    (tmp_path / "session" / "rank 0").mkdir(parents=True)
    file = tmp_path / "session" / "rank 0" / "ops"
    file.write_bytes(b"12")
    key = content_key(tmp_path / "session", "session")
    assert key
    (tmp_path / "session" / "rank 1").write_bytes(b"")
    assert content_key(tmp_path / "session", "session") not in (key, "")


def test_what_is_no_file_has_no_key(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert content_key(tmp_path / "pipe", "wavescope") == ""
    assert content_key(tmp_path / "missing", "wavescope") == ""
    assert content_key(Path("/dev/null"), "wavescope") == ""


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("key", "b" * 40),
        ("rows", [["queue/0/1", [[0, 40, 4], [0, 10**15, 4]]]]),
        ("rows", [["queue/0/1", [[0, -40, 4]]]]),
        ("rows", [["queue/0/1", [[-1, 40, 4]]]]),
        ("rows", [["queue/0/1", [[0, 40, 2]]]]),
        ("rows", [["queue/0/1", [[0, 20, 4]]]]),
        ("rows", [["../../etc", [[0, 40, 4]]]]),
        ("rows", 7),
        ("times", [1]),
        ("call_names", -1),
        ("added_strings", None),
    ],
)
def test_a_manifest_that_says_what_cannot_be_is_not_believed(
    change: str, value: object, folder: Path
) -> None:
    """With a right digest: as another version, or somebody with too much time, would write it."""
    starts = list(range(0, 4000, 100))
    cache = a_cache(folder)
    assert cache.keep(KEY, kept(starts))
    assert starts_in(cache.find(KEY)) == starts
    manifest = folder / KEY / "manifest"
    facts = json.loads(manifest.read_bytes().partition(b"\n")[2])
    text = json.dumps({**facts, change: value}).encode()
    manifest.write_bytes(lane_cache._digest(text).encode() + b"\n" + text)

    assert cache.find(KEY) is None
    assert not (folder / KEY).exists()


def test_the_folder_and_its_files_are_the_users_alone(folder: Path) -> None:
    assert a_cache(folder).keep(KEY, kept([1, 5]))

    for path in (folder, folder / KEY):
        assert path.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in (folder / KEY).iterdir()) == ["columns", "manifest"]


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_others_can_enter_is_not_used(mode: int, folder: Path) -> None:
    cache = a_cache(folder)
    assert cache.keep(KEY, kept([1, 5]))
    folder.chmod(mode)

    assert cache.find(KEY) is None
    assert not cache.keep("b" * 40, kept([1, 5]))
    assert (folder / KEY).exists()


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = a_cache(folder)
    assert cache.keep(KEY, kept([1, 5]))
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)

    assert cache.find(KEY) is None
    assert not cache.keep("b" * 40, kept([1, 5]))
    assert [path.name for path in folder.iterdir()] == [KEY]


def test_a_link_to_a_folder_counts_as_what_it_names(folder: Path, tmp_path: Path) -> None:
    folder.parent.mkdir(parents=True)
    target = tmp_path / "disk"
    target.mkdir(mode=0o755)
    folder.symlink_to(target)
    cache = a_cache(folder)

    assert not cache.keep(KEY, kept([1, 5]))
    assert list(target.iterdir()) == []
    target.chmod(0o700)
    assert cache.keep(KEY, kept([1, 5]))
    assert starts_in(cache.find(KEY)) == [1, 5]
    folder.unlink()
    folder.symlink_to(tmp_path / "nowhere")
    assert cache.find(KEY) is None
    assert not cache.keep(KEY, kept([1, 5]))


def test_where_caches_are_follows_the_users_environment(tmp_path: Path) -> None:
    options = CacheOptions(fewest_ranges=1)
    for number, environment in enumerate(
        (
            {"XDG_CACHE_HOME": str(tmp_path / "x"), "HOME": str(tmp_path / "h")},
            {"HOME": str(tmp_path / "h")},
            {"XDG_CACHE_HOME": "relative", "HOME": str(tmp_path / "i")},
        )
    ):
        assert LaneCache(options, environment).keep(KEY, kept([number, 9]))
    assert not LaneCache(options, {}).keep(KEY, kept([1, 9]))
    assert LaneCache(options, {}).find(KEY) is None

    found = sorted(path.parent.relative_to(tmp_path) for path in tmp_path.rglob("manifest"))
    assert found == [
        Path(f"h/.cache/wavescope/view/{KEY}"),
        Path(f"i/.cache/wavescope/view/{KEY}"),
        Path(f"x/wavescope/view/{KEY}"),
    ]


def test_what_was_not_used_for_longest_goes_first(folder: Path) -> None:
    ranges = kept(list(range(0, 10_000, 10)))
    assert a_cache(folder).keep("0" * 40, ranges)
    size = sum(path.stat().st_size for path in (folder / ("0" * 40)).iterdir())
    now = 4e9
    limit = CacheOptions(folder=folder, largest_bytes=3 * size + 1000, fewest_ranges=1)
    cache = LaneCache(limit, {}, clock=lambda: now)

    left = []
    for key in "abacd":  # the second a only looks
        now += 1
        assert cache.find(key * 40) or cache.keep(key * 40, ranges)
        left.append("".join(sorted(path.name[0] for path in folder.iterdir())))

    assert left == ["0a", "0ab", "0ab", "abc", "acd"]


def test_an_entry_on_a_disk_that_cannot_be_written_to_is_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = a_cache(folder)
    assert cache.keep(KEY, kept([1, 5]))

    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "utime", read_only)

    assert starts_in(cache.find(KEY)) == [1, 5]
    assert starts_in(cache.find(KEY)) == [1, 5]


def test_what_is_larger_than_everything_is_not_kept(folder: Path) -> None:
    cache = LaneCache(CacheOptions(folder=folder, largest_bytes=100, fewest_ranges=1), {})

    assert not cache.keep(KEY, kept(list(range(0, 100, 5))))
    assert not folder.exists()


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        assert not a_cache(folder).keep(KEY, kept([1, 5]))
    assert list(folder.iterdir()) == []
    with monkeypatch.context() as patch:
        usage = lane_cache.shutil._ntuple_diskusage  # type: ignore[attr-defined]
        patch.setattr(lane_cache.shutil, "disk_usage", lambda _: usage(10**9, 10**9, 100))
        assert not a_cache(folder).keep(KEY, kept([1, 5]))
    assert list(folder.iterdir()) == []
    assert a_cache(folder).keep(KEY, kept([1, 5]))


def test_folders_that_were_not_kept_here_are_never_removed(folder: Path) -> None:
    (folder / "photographs").mkdir(mode=0o700, parents=True)
    (folder / "photographs" / "cat").write_bytes(bytes(10_000))
    folder.chmod(0o700)
    cache = LaneCache(CacheOptions(folder=folder, largest_bytes=5_000, fewest_ranges=1), {})

    assert cache.keep(KEY, kept([1, 5]))
    assert {path.name for path in folder.iterdir()} == {"photographs", KEY}


def test_lanes_that_are_no_longer_wanted_leave_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_cache, "_WRITTEN_BYTES", 100)
    answers = iter([True, True, False])

    assert not a_cache(folder).keep(KEY, kept(list(range(0, 500, 5))), lambda: next(answers))
    assert list(folder.iterdir()) == []
    assert a_cache(folder).keep(KEY, kept(list(range(0, 500, 5))))
    assert starts_in(a_cache(folder).find(KEY)) == list(range(0, 500, 5))


def test_unfinished_entries_are_taken_away_after_a_day(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True)
    for name, age in ((".unfinished-old", 100_000.0), (".unfinished-new", 60.0)):
        (folder / name).mkdir()
        (folder / name / "columns").write_bytes(bytes(100))
        os.utime(folder / name, (1e9 - age, 1e9 - age))

    assert a_cache(folder, clock=lambda: 1e9).keep(KEY, kept([1, 5]))

    assert {path.name for path in folder.iterdir()} == {".unfinished-new", KEY}


def test_lanes_stay_readable_when_their_entry_is_removed(folder: Path) -> None:
    cache = a_cache(folder)
    starts = list(range(0, 50_000, 5))
    assert cache.keep(KEY, kept(starts))
    found = cache.find(KEY)
    for path in (folder / KEY).iterdir():
        path.unlink()

    assert starts_in(found) == starts
