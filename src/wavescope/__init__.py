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

from typing import TYPE_CHECKING, Any

from wavescope.version import __version__

if TYPE_CHECKING:
    from wavescope.api.traces import (
        compare,
        convert,
        find,
        hotspots,
        merge,
        metric_panels,
        occupancy,
        open,  # noqa: A004
        phases,
        plan,
        report,
        roofline,
        steps,
        summary,
        traffic,
    )
    from wavescope.errors import WavescopeError
    from wavescope.markers import mark, pause, range, resume  # noqa: A004

_MARKERS = ("mark", "pause", "range", "resume")
__all__ = [
    "WavescopeError",
    "__version__",
    "compare",
    "convert",
    "find",
    "hotspots",
    "mark",
    "merge",
    "metric_panels",
    "occupancy",
    "open",
    "pause",
    "phases",
    "plan",
    "range",
    "report",
    "resume",
    "roofline",
    "steps",
    "summary",
    "traffic",
]


def __getattr__(name: str) -> Any:
    """Public names, imported when first used: `wavescope --help` must not wait for NumPy."""
    if name == "WavescopeError":
        from wavescope.errors import WavescopeError  # noqa: PLC0415

        return WavescopeError
    if name in _MARKERS:
        from wavescope import markers  # noqa: PLC0415

        # Kept here, because markers are set in inner loops.
        globals().update({public: getattr(markers, public) for public in _MARKERS})
        return globals()[name]
    if name in __all__:
        from wavescope.api import traces as api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(f"module 'wavescope' has no attribute '{name}'")
