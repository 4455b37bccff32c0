"""The rows of a table of kernels by phase, the same for phases with and without markers."""

from __future__ import annotations

from wavescope.analyze.phases.phase_kernels import PhaseKernels
from wavescope.model.result import ResultColumn, Unit, Value

KERNEL_COLUMNS = (
    ResultColumn("path", "Phase", Unit.NAME, "as in the table of phases"),
    ResultColumn("name", "Kernel", Unit.NAME, "kernel, copy or fill"),
    ResultColumn("calls", "Calls", Unit.COUNT, "how often it ran in the phase"),
    ResultColumn("mean_ns", "Avg", Unit.NS, "total / calls"),
    ResultColumn("percent", "%", Unit.PERCENT, "share of the phase's summed durations"),
    ResultColumn("note", "What it is", Unit.NAME, "what the name says of the kernel"),
    ResultColumn("category", "Category", Unit.NAME, "kind of work, see docs/categories.md"),
    ResultColumn("total_ns", "Total", Unit.NS, "sum of durations"),
)


def kernel_rows(
    kernels: PhaseKernels, path: int, place: tuple[Value, ...], most: int | None
) -> list[tuple[Value, ...]]:
    """The `most` kernels (all for None) of a path, largest first; rows begin with `place`."""
    whole_ns = kernels.total_ns(path)
    return [
        (
            *place,
            kernels.names[name],
            time.calls,
            time.total_ns / time.calls,
            100 * time.total_ns / whole_ns if whole_ns else None,
            kernels.meanings[name].note or None,
            kernels.meanings[name].category,
            time.total_ns,
        )
        for name, time in kernels.top(path)[:most]
    ]
