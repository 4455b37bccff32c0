"""What is kept of a trace makes its next opening quick, and never makes it wrong."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.builders import a_trace, random_ops
from tests.sample_files import SAMPLES, rich_trace, write_as
from tests.view_ranges import expected_host, expected_ops, shown_ranges
from wavescope.formats import open_trace
from wavescope.model.selection import Selection
from wavescope.view.lanes import Lane
from wavescope.view.opening import CacheOptions, OpeningOptions, TraceView, open_view
from wavescope.view.opening.cache import KeptLanes, LaneCache, content_key, lane_cache
from wavescope.view.rows import OpPlace

KEY = "a" * 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "wavescope" / "view"


@pytest.fixture
def options(folder: Path) -> OpeningOptions:
    return OpeningOptions(cache=CacheOptions(folder=folder, fewest_ranges=1))


def opened(path: Path, options: OpeningOptions, **given: object) -> TraceView:
    """The whole trace, and what was to be kept of it is."""
    view = open_view(path, options=options, **given)  # type: ignore[arg-type]
    view.wait()
    assert view.loaded.is_whole, view.loaded.problem
    return view


def was_read(view: TraceView) -> bool:
    """Whether the trace was read, and not found in the cache: that takes more than one picture."""
    return view.loaded.version > 1


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


@pytest.mark.parametrize("name", SAMPLES)
def test_the_second_opening_of_every_format_shows_the_same_without_reading(
    name: str, tmp_path: Path, options: OpeningOptions
) -> None:
    path = SAMPLES[name](tmp_path)

    with opened(path, options) as first, opened(path, options) as second:
        assert was_read(first)
        assert not was_read(second)
        for table in ("ops", "markers", "calls"):
            assert shown_ranges(second, table) == shown_ranges(first, table)
        assert _facts(second) == _facts(first)
        # Names of what analyses read now have the same codes as those of the lanes.
        assert shown_ranges(second, "ops") == expected_ops(second.trace)
        assert shown_ranges(second, "calls") == expected_host(second.trace, "calls")


def _facts(view: TraceView) -> list[object]:
    loaded = view.loaded
    rows = [(row.id, row.label, row.parent, row.count, row.members) for row in loaded.rows]
    known = view.call_categories.known
    categories = zip(
        view.trace.strings.decode(known.names),
        view.trace.strings.decode(known.categories),
        strict=True,
    )
    return [loaded.first_ns, loaded.end_ns, loaded.share, rows, sorted(categories)]


def test_slices_notes_and_values_are_the_same_in_the_second_opening(
    tmp_path: Path, options: OpeningOptions
) -> None:
    maker = rich_trace().with_slice(5, 9, process=0).with_slice(7, 20, process=1)
    path = write_as(maker, tmp_path / "t.db")

    with opened(path, options) as first, opened(path, options) as second:
        assert not was_read(second)
        for name in ("gpu/0", "gpu/1"):
            one, two = (view.loaded.row_by_id[name].recorded for view in (first, second))
            assert one is not None
            assert two is not None
            assert one.starts.tolist() == two.starts.tolist()
            assert one.ends.tolist() == two.ends.tolist()
        depths = [view.loaded.row_by_id["series/depth/0/1"].series for view in (first, second)]
        assert depths[0] is not None
        assert depths[1] is not None
        assert depths[0].values.tolist() == depths[1].values.tolist()
        assert max(depths[1].values.tolist()) == 1.0


def test_notes_of_the_reader_are_kept(tmp_path: Path, options: OpeningOptions) -> None:
    path = write_as(random_ops(50), tmp_path / "t.db")
    import sqlite3

    connection = sqlite3.connect(path)
    with connection:
        connection.execute('UPDATE rocpd_op SET "end" = start - 5 WHERE id = 7')
    connection.close()

    with opened(path, options) as first, opened(path, options) as second:
        assert not was_read(second)
        assert list(first.trace.notes) == list(second.trace.notes)
        assert second.trace.notes.sentences() == [
            "ops ended before they started: taken as ending there"
        ]


def test_nothing_is_kept_or_used_when_not_wanted(tmp_path: Path, options: OpeningOptions) -> None:
    path = write_as(random_ops(50), tmp_path / "t.db")
    folder = options.cache.folder if options.cache else None
    assert folder is not None

    opened(path, options, cache=False).close()
    opened(path, options, selection=Selection(gpus=(0,))).close()
    assert not folder.exists()
    opened(path, options).close()
    assert len(list(folder.iterdir())) == 1
    for given in ({"cache": False}, {"selection": Selection(gpus=(0,))}):
        with opened(path, options, **given) as view:
            assert was_read(view)


def test_small_traces_are_not_kept(tmp_path: Path, folder: Path) -> None:
    path = write_as(random_ops(50), tmp_path / "t.db")

    opened(path, OpeningOptions(cache=CacheOptions(folder=folder, fewest_ranges=51))).close()
    assert not folder.exists()
    opened(path, OpeningOptions(cache=CacheOptions(folder=folder, fewest_ranges=50))).close()
    assert folder.exists()


def test_a_changed_file_is_read_again(tmp_path: Path, options: OpeningOptions) -> None:
    path = write_as(random_ops(50, seed=1), tmp_path / "t.db")
    opened(path, options).close()
    path.unlink()
    write_as(random_ops(50, seed=2), path)

    with opened(path, options) as view, open_trace(path) as trace:
        assert was_read(view)
        assert shown_ranges(view, "ops") == expected_ops(trace)


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

    assert content_key(tmp_path / "missing", "wavescope") == ""
    assert content_key(Path("/dev/null"), "wavescope") == ""


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    tmp_path: Path, options: OpeningOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_as(random_ops(50), tmp_path / "t.db")
    keys = iter(["a" * 40, "b" * 40])
    monkeypatch.setattr("wavescope.view.opening.opened_view.content_key", lambda *_: next(keys))

    opened(path, options).close()

    assert options.cache is not None
    assert options.cache.folder is not None
    assert not options.cache.folder.exists()


def test_paths_with_odd_names(tmp_path: Path, options: OpeningOptions) -> None:
    odd = tmp_path / "a b\n\"'%00\udcff…"
    odd.mkdir()
    path = write_as(random_ops(50), odd / "trace ?#&.db")

    opened(path, options).close()
    with opened(path, options) as view:
        assert not was_read(view)
        assert shown_ranges(view, "ops") == expected_ops(view.trace)


def _cut_columns(entry: Path) -> None:
    os.truncate(entry / "columns", (entry / "columns").stat().st_size - 64)


def _longer_columns(entry: Path) -> None:
    with (entry / "columns").open("ab") as file:
        file.write(bytes(64))


def _changed_columns(entry: Path) -> None:
    content = bytearray((entry / "columns").read_bytes())
    content[:64] = bytes(64)
    (entry / "columns").write_bytes(content)


def _changed_manifest(entry: Path) -> None:
    text = (entry / "manifest").read_bytes()
    changed = text.replace(b'"left_out_count": 0', b'"left_out_count": 7')
    assert changed != text
    (entry / "manifest").write_bytes(changed)


def _empty_manifest(entry: Path) -> None:
    (entry / "manifest").write_bytes(b"")


def _no_manifest(entry: Path) -> None:
    (entry / "manifest").unlink()


def _others_may_read(entry: Path) -> None:
    entry.chmod(0o755)


def _linked_columns(entry: Path) -> None:
    (entry / "columns").rename(entry.parent / "elsewhere")
    (entry / "columns").symlink_to(entry.parent / "elsewhere")


def _linked_entry(entry: Path) -> None:
    entry.rename(entry.parent / "moved")
    entry.symlink_to(entry.parent / "moved")


def _a_file(entry: Path) -> None:
    _no_manifest(entry)
    (entry / "columns").unlink()
    entry.rmdir()
    entry.write_bytes(b"rubbish")


@pytest.mark.parametrize(
    "spoil",
    [
        _cut_columns,
        _longer_columns,
        _changed_columns,
        _changed_manifest,
        _empty_manifest,
        _no_manifest,
        _others_may_read,
        _linked_columns,
        _linked_entry,
        _a_file,
    ],
)
def test_a_damaged_entry_costs_one_reading(
    spoil: Callable[[Path], None], tmp_path: Path, options: OpeningOptions, folder: Path
) -> None:
    path = write_as(random_ops(2000), tmp_path / "t.db")
    opened(path, options).close()
    (entry,) = folder.iterdir()
    spoil(entry)

    with opened(path, options) as again, opened(path, options) as third:
        assert was_read(again)
        assert not was_read(third)
        assert shown_ranges(third, "ops") == expected_ops(third.trace)


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


def test_a_trace_is_shown_though_the_cache_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_as(random_ops(50), tmp_path / "t.db")
    (tmp_path / "file").write_bytes(b"")
    blocked = CacheOptions(folder=tmp_path / "file" / "view", fewest_ranges=1)

    with opened(path, OpeningOptions(cache=blocked)) as view:
        assert shown_ranges(view, "ops") == expected_ops(view.trace)


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


_KEEPER = """
import sys
from pathlib import Path
from wavescope.view.opening import CacheOptions, OpeningOptions, open_view
options = OpeningOptions(cache=CacheOptions(folder=Path(sys.argv[2]), fewest_ranges=1))
sys.stdin.readline()
for _ in range(5):
    view = open_view(sys.argv[1], options=options)
    view.wait()
    assert view.loaded.is_whole, view.loaded.problem
    print(sum(row.count for row in view.loaded.rows if row.lanes))
    view.close()
    for entry in Path(sys.argv[2]).iterdir():
        (entry / "manifest").unlink(missing_ok=True)
"""


def test_two_processes_may_keep_and_damage_the_same_trace_at_once(
    tmp_path: Path, folder: Path, options: OpeningOptions
) -> None:
    path = write_as(random_ops(500), tmp_path / "t.db")
    command = [sys.executable, "-c", _KEEPER, str(path), str(folder)]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()

    for process in started:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert output.split() == ["500"] * 5
    opened(path, options).close()
    with opened(path, options) as view:
        assert not was_read(view)
        assert len(shown_ranges(view, "ops")) == 500


def test_an_empty_trace_may_be_kept(tmp_path: Path, folder: Path) -> None:
    path = write_as(a_trace(), tmp_path / "t.db")
    options = OpeningOptions(cache=CacheOptions(folder=folder, fewest_ranges=0))

    opened(path, options).close()
    with opened(path, options) as view:
        assert not was_read(view)
        assert view.loaded.rows == ()
        assert (view.loaded.first_ns, view.loaded.end_ns) == (0, 1)
