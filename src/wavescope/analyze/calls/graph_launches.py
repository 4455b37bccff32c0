"""Which calls launch a graph."""

from __future__ import annotations

import re

from wavescope.model.trace import Trace

_GRAPH_LAUNCH = re.compile(r"^(hip|cuda|cu)GraphLaunch")


def graph_launch_names(trace: Trace) -> list[int]:
    """The codes of the names of calls that launch a graph."""
    codes = trace.calls.code_counts("name").codes.tolist()
    return [code for code in codes if _GRAPH_LAUNCH.match(trace.strings[code])]
