"""GPU time by call site: the innermost Python function around a launch outside the framework."""

from __future__ import annotations

import re

import numpy as np

from wavescope.analyze.calls.call_tree import NO_CALL
from wavescope.analyze.calls.forward_calls import nearest_or_forward
from wavescope.analyze.calls.outermost import PYTHON_CATEGORY, calls_of_categories
from wavescope.analyze.operators.attribution import (
    Described,
    Label,
    ListedOps,
    Numbers,
    OpLaunches,
    attributed,
    time_table,
)
from wavescope.arrays.coded_columns import distinct
from wavescope.model.result import ResultColumn, ResultTable, Unit
from wavescope.model.trace import Trace

NO_SITE = "(outside any Python function)"
_COLUMNS = (
    ResultColumn("site", "Call site", Unit.NAME, "innermost Python function outside the framework"),
)
_FRAME = re.compile(r"^(?P<file>[^<].{0,4000})\(\d+\): ")
_FRAMEWORK_FILE = re.compile(
    r"(^|/)(torch|torchinductor_[^/]*|triton|_pytest|pluggy|concurrent/futures|multiprocessing"
    r"|asyncio|importlib)/|^(threading|contextlib|functools|runpy|typing|enum|abc|copy"
    r"|_collections_abc|weakref|inspect|dataclasses)\.py$"
)
"""Files that only carry calls: the framework's own, and those of Python that it goes through."""
_PACKAGES = re.compile(r"^.*/(site|dist)-packages/")


def site_tables(launches: OpLaunches, ops: ListedOps) -> list[ResultTable]:
    """The table `sites`; none when no Python functions are recorded."""
    if not any(_site_codes(source.trace) for source in launches.sources):
        return []
    found = attributed(launches, sites, NO_SITE)
    return [time_table("sites", "Call sites", _COLUMNS, found, ops)]


def sites(trace: Trace, rows: Numbers) -> Described[Label]:
    """The call site of each call; in a backward pass that of the forward call."""
    is_site = np.isin(trace.calls["name"], _site_codes(trace))
    is_site &= calls_of_categories(trace, (PYTHON_CATEGORY,))
    found = nearest_or_forward(trace, rows, is_site)
    codes, code = distinct(trace.calls["name"][np.maximum(found, 0)])
    labels: list[Label] = [(frame_text(trace.strings[each]),) for each in codes]
    return Described(labels, np.where(found < 0, NO_CALL, code.astype(np.int64)), found)


def frame_text(name: str) -> str:
    """The name of a call as readers want it: files of packages without the folder of them all."""
    return _PACKAGES.sub("", name)


def _site_codes(trace: Trace) -> list[int]:
    """The codes of names that can be a call site."""
    return trace.derived(_find_site_codes)


def _find_site_codes(trace: Trace) -> list[int]:
    if not len(trace.calls):
        return []
    names = trace.calls["name"][calls_of_categories(trace, (PYTHON_CATEGORY,))]
    return [code for code in distinct(names)[0] if code >= 0 and _is_site(trace.strings[code])]


def _is_site(name: str) -> bool:
    """Whether it is a function of a file outside the framework: `models/llama.py(310): forward`."""
    frame = _FRAME.match(name)
    return frame is not None and not _FRAMEWORK_FILE.search(frame["file"])
