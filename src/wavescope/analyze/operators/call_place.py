"""What one call is part of: operator, modules and Python function around it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.calls.outermost import outermost_operators
from wavescope.analyze.operators.attribution import Describe, Label
from wavescope.analyze.operators.call_sites import sites
from wavescope.analyze.operators.modules import modules
from wavescope.model.trace import Trace


class LaunchPlace(NamedTuple):
    """What is around a call; empty where it is not known."""

    operator: str
    """The outermost one."""
    module_path: Label
    site: str


def launch_place(trace: Trace, call: int) -> LaunchPlace:
    """What the call in a row of `trace` is part of."""
    site = _label(trace, call, sites)
    return LaunchPlace(_operator(trace, call), _label(trace, call, modules), "".join(site))


def _operator(trace: Trace, call: int) -> str:
    outer = outermost_operators(trace)
    if outer is None:
        return ""
    (place,) = outer.around(trace.calls, np.array([call], np.int64)).tolist()
    return "" if place < 0 else trace.strings[int(trace.calls["name"][outer.rows[place]])]


def _label(trace: Trace, call: int, describe: Describe[Label]) -> Label:
    found = describe(trace, np.array([call], np.int64))
    code = int(found.code[0])
    return () if code < 0 else found.labels[code]
