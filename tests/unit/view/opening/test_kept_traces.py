"""The second opening of a trace shows what was kept of it, and never anything else."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import a_trace, random_ops
from tests.sample_files import SAMPLES, rich_trace, write_as
from tests.view_ranges import expected_host, expected_ops, shown_ranges
from wavescope.formats import open_trace
from wavescope.model.selection import Selection
from wavescope.view.opening import CacheOptions, OpeningOptions, TraceView, open_view


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
    """Whether the trace was read, and not found in the cache."""
    return view._reader is not None


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

    connection = sqlite3.connect(path)
    with connection:
        connection.execute('UPDATE rocpd_op SET "end" = start - 5 WHERE id = 7')
    connection.close()

    with opened(path, options) as first, opened(path, options) as second:
        assert not was_read(second)
        assert list(first.trace.notes) == list(second.trace.notes)
        assert first.loaded.notes == second.loaded.notes
        assert second.loaded.notes == ("ops ended before they started: taken as ending there",)


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


def test_a_trace_is_shown_though_the_cache_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_as(random_ops(50), tmp_path / "t.db")
    (tmp_path / "file").write_bytes(b"")
    blocked = CacheOptions(folder=tmp_path / "file" / "view", fewest_ranges=1)

    with opened(path, OpeningOptions(cache=blocked)) as view:
        assert shown_ranges(view, "ops") == expected_ops(view.trace)


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
