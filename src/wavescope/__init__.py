"""wavescope: GPU traces, opened, analysed and converted.

import wavescope

trace = wavescope.open("trace.db")        # any known format
trace.ops.to_pandas()
wavescope.summary(trace)                  # tables and findings, shown richly in a notebook
wavescope.phases(trace)                   # what prefill, decode, ... did
wavescope.find(trace)                     # what is worth changing
wavescope.steps(trace)                    # how long each step takes
wavescope.compare(["old.db", "new.db"])   # what changed
wavescope.hotspots("ui_output_agent_1_dispatch_3")   # where a kernel stalls
wavescope.metric_panels("workloads/gemm")  # what hardware counters say
wavescope.traffic("out_counter_collection.csv")   # how kernels use L2 and memory

with wavescope.range("prefill"):          # shows up as a marker when the program is recorded
    ...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wavescope.version import __version__

if TYPE_CHECKING:
    from wavescope.api.captures import hotspots, occupancy, plan
    from wavescope.api.comparison import compare
    from wavescope.api.counter_pages import report_counters
    from wavescope.api.counters import metric_panels, roofline, traffic
    from wavescope.api.files import convert, export_format, trim
    from wavescope.api.inputs import kind_of
    from wavescope.api.merging import merge
    from wavescope.api.other_contents import capture_info, counters_info
    from wavescope.api.phases import phases, steps
    from wavescope.api.queries import query
    from wavescope.api.traces import find, open, report, summary  # noqa: A004
    from wavescope.errors import WavescopeError
    from wavescope.formats.wavescope.merge_plan import RankFrom
    from wavescope.markers import mark, pause, range, resume  # noqa: A004
    from wavescope.model.input_kind import InputKind
    from wavescope.model.result import Finding, Result
    from wavescope.model.selection import Selection
    from wavescope.model.trace import Trace

_MARKERS = ("mark", "pause", "range", "resume")
__all__ = [
    "Finding",
    "InputKind",
    "RankFrom",
    "Result",
    "Selection",
    "Trace",
    "WavescopeError",
    "__version__",
    "capture_info",
    "compare",
    "convert",
    "counters_info",
    "export_format",
    "find",
    "hotspots",
    "kind_of",
    "mark",
    "merge",
    "metric_panels",
    "occupancy",
    "open",
    "pause",
    "phases",
    "plan",
    "query",
    "range",
    "report",
    "report_counters",
    "resume",
    "roofline",
    "steps",
    "summary",
    "traffic",
    "trim",
]


_HOMES = {
    "Finding": "wavescope.model.result",
    "InputKind": "wavescope.model.input_kind",
    "RankFrom": "wavescope.formats.wavescope.merge_plan",
    "Result": "wavescope.model.result",
    "Selection": "wavescope.model.selection",
    "Trace": "wavescope.model.trace",
    "WavescopeError": "wavescope.errors",
    "capture_info": "wavescope.api.other_contents",
    "compare": "wavescope.api.comparison",
    "convert": "wavescope.api.files",
    "counters_info": "wavescope.api.other_contents",
    "export_format": "wavescope.api.files",
    "find": "wavescope.api.traces",
    "hotspots": "wavescope.api.captures",
    "kind_of": "wavescope.api.inputs",
    "merge": "wavescope.api.merging",
    "metric_panels": "wavescope.api.counters",
    "occupancy": "wavescope.api.captures",
    "open": "wavescope.api.traces",
    "phases": "wavescope.api.phases",
    "plan": "wavescope.api.captures",
    "query": "wavescope.api.queries",
    "report": "wavescope.api.traces",
    "report_counters": "wavescope.api.counter_pages",
    "roofline": "wavescope.api.counters",
    "steps": "wavescope.api.phases",
    "summary": "wavescope.api.traces",
    "traffic": "wavescope.api.counters",
    "trim": "wavescope.api.files",
}


def __getattr__(name: str) -> Any:
    """Public names, imported when first used: `wavescope --help` must not wait for NumPy."""
    if name in _MARKERS:
        from wavescope import markers  # noqa: PLC0415

        # Kept here, because markers are set in inner loops.
        globals().update({public: getattr(markers, public) for public in _MARKERS})
        return globals()[name]
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'wavescope' has no attribute '{name}'")
