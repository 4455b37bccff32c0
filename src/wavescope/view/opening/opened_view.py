"""Traces opened for looking at them: read in the background, or found in the cache."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from wavescope.closing import on_error
from wavescope.formats import open_source
from wavescope.model.paths import PathLike
from wavescope.model.selection import Selection, selected_source
from wavescope.model.trace import Trace
from wavescope.view.opening.cache import KeptLanes, LaneCache, content_key
from wavescope.view.opening.call_categories import NamedCategories
from wavescope.view.opening.opening_options import OpeningOptions
from wavescope.view.opening.reading import Reading, notes_of, recorded_by_gpu, row_tree
from wavescope.view.opening.trace_view import Loaded, TraceView, file_state

_EVERYTHING = Selection()
_DEFAULTS = OpeningOptions()


def open_view(
    path: PathLike,
    *,
    number: int = 0,
    label: str = "",
    selection: Selection = _EVERYTHING,
    cache: bool = True,
    options: OpeningOptions = _DEFAULTS,
) -> TraceView:
    """The trace at `path`, of which reading has begun, or which is whole already.

    A file that is no trace is an error at once; one that turns out to be damaged later on is a
    `problem` of what is loaded.
    """
    if not cache or not selection.is_everything:
        options = replace(options, cache=None)
    opened_as = file_state(path)
    source = selected_source(open_source(path), selection)
    with on_error(source.close):
        name = label or Path(path).name
        view = TraceView(number, name, Trace(source), opened_as=opened_as)
        keeping = _Keeping.of(view, options)
        if keeping is None or not keeping.find():
            reading = Reading(view, options)
            view.read_with(partial(_read, view, reading, keeping))
    return view


def loaded_view(trace: Trace, *, number: int = 0, label: str = "") -> TraceView:
    """A view of all of `trace`; errors are raised."""
    view = TraceView(number, label or Path(trace.path).name, trace)
    Reading(view, _DEFAULTS).read()
    return view


def _read(view: TraceView, reading: Reading, keeping: _Keeping | None) -> None:
    reading.run()
    if keeping is not None and view.loaded.is_whole and not view.is_closing:
        keeping.keep(reading)


class _Keeping:
    """The cache, for one trace."""

    def __init__(self, view: TraceView, cache: LaneCache) -> None:
        self._view = view
        self._cache = cache
        self._path = Path(view.trace.path)
        self._key = content_key(self._path, view.trace.format)
        self._known_strings = len(view.trace.strings)

    @classmethod
    def of(cls, view: TraceView, options: OpeningOptions) -> _Keeping | None:
        if options.cache is None:
            return None
        return cls(view, LaneCache(options.cache, os.environ))

    def find(self) -> bool:
        """Show what was kept of the trace; whether there is something."""
        kept = self._cache.find(self._key)
        if kept is None or not self._takes_strings(kept):
            return False
        view = self._view
        for sentence, count in kept.notes:
            view.trace.notes.set(sentence, count)
        view.call_categories.add(kept.call_names, kept.call_categories)
        first_ns, end_ns = kept.times
        with view.turn:
            notes = notes_of(view, kept.left_out_count)
            recorded = recorded_by_gpu(view, kept.processes_of_gpu)
            rows = row_tree(view).rows(kept.lanes, recorded)
        view.loaded = Loaded(
            version=1,
            rows=rows,
            first_ns=first_ns,
            end_ns=max(end_ns, first_ns + 1),
            share=1.0,
            is_whole=True,
            notes=notes,
        )
        return True

    def keep(self, reading: Reading) -> None:
        """Keep what was read, unless the file has changed meanwhile."""
        view = self._view
        known: NamedCategories = view.call_categories.known
        with view.turn:
            strings = list(view.trace.strings)[self._known_strings :]
            notes = list(view.trace.notes)
        kept = KeptLanes(
            reading.lanes(),
            reading.times,
            self._known_strings,
            strings,
            known.names,
            known.categories,
            reading.ops.processes_of_gpu,
            reading.left_out_count,
            notes,
        )
        if content_key(self._path, view.trace.format) == self._key:
            self._cache.keep(self._key, kept, lambda: not view.is_closing)

    def _takes_strings(self, kept: KeptLanes) -> bool:
        """Give the source's strings the codes that they had; whether that was possible."""
        strings = self._view.trace.strings
        if len(strings) != kept.known_strings:
            return False
        codes = strings.codes(kept.added_strings).tolist()
        return list(codes) == list(range(kept.known_strings, len(strings)))
