"""What captures of single kernels say: hotspots, plan, occupancy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wavescope.api.opened import PathLike
from wavescope.api.traffic import memory_counters
from wavescope.model.result import Result

if TYPE_CHECKING:
    from wavescope.analyze.capture.decoded import DecodedTrace
    from wavescope.analyze.capture.hotspots import HotspotOptions


def hotspots(capture: PathLike, options: HotspotOptions | None = None) -> Result:
    """Where a kernel stalls, by instruction and line, from a thread-trace capture."""
    from wavescope.analyze.capture.hotspots import hotspots as found  # noqa: PLC0415

    return found(_decoded(capture), options)


def plan(capture: PathLike, *, counters: PathLike | Sequence[PathLike] = ()) -> Result:
    """What to change in a traced kernel, in which order, and for how much at most.

    `counters` of the same kernel, from another run, tell what caches and LDS banks did.
    """
    from wavescope.analyze.capture.capture_findings import capture_findings  # noqa: PLC0415
    from wavescope.analyze.capture.plan.kernel_counters import counters_of_trace_kernel  # noqa: PLC0415
    from wavescope.analyze.capture.plan.plan import plan_result  # noqa: PLC0415

    decoded = _decoded(capture)
    counted = counters_of_trace_kernel(decoded, memory_counters(counters)) if counters else None
    result = plan_result(decoded, counted)
    result.findings += capture_findings(decoded.trace)
    return result


def occupancy(
    chip: str = "",
    *,
    capture: PathLike | None = None,
    vgprs: int | None = None,
    agprs: int | None = None,
    sgprs: int | None = None,
    lds_bytes: int | None = None,
    workgroup_size: int | None = None,
    wave_size: int = 0,
    cu_mode: bool = False,
) -> Result:
    """How many waves of a kernel fit on a chip, what limits them, what one more takes.

    Of a traced kernel the files of `capture` tell the figures; those that are given go before.
    """
    from wavescope.analyze.occupancy.traced_kernel import (  # noqa: PLC0415
        StatedResources,
        stated_occupancy_result,
        traced_occupancy_result,
    )
    from wavescope.model.chips.catalogue import chip_named  # noqa: PLC0415

    stated = StatedResources(
        chip_named(chip) if chip else None,
        vgprs,
        agprs,
        sgprs,
        lds_bytes,
        workgroup_size,
        wave_size,
        cu_mode,
    )
    if capture is None:
        return stated_occupancy_result(stated)
    from wavescope.formats.captures import ReadOptions, load_thread_trace, only_capture  # noqa: PLC0415

    trace = load_thread_trace(only_capture(capture), ReadOptions(reads_waves=False))
    return traced_occupancy_result(trace, stated)


def _decoded(capture: PathLike) -> DecodedTrace:
    from wavescope.analyze.capture.decoded import DecodedTrace  # noqa: PLC0415
    from wavescope.formats.captures import load_thread_trace, only_capture  # noqa: PLC0415

    return DecodedTrace(load_thread_trace(only_capture(capture)))
