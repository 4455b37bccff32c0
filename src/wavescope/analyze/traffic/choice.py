"""Which dispatches a report of traffic is about, and which chip they ran on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from wavescope.analyze.traffic.kernel_traffic import TrafficOptions
from wavescope.errors import UsageError
from wavescope.model.chips.catalogue import find_chip
from wavescope.model.dispatch_counters import COLLECT_HINT, DispatchCounters
from wavescope.model.selection import compiled

_LISTED = 5


def chosen_dispatches(
    counters: DispatchCounters, kernel: str = "", dispatches: Collection[int] = ()
) -> DispatchCounters:
    """Dispatches of kernels whose name matches `kernel` somewhere, with one of these numbers."""
    kept = list(counters.dispatches)
    if kernel:
        pattern = compiled(kernel)
        kept = [each for each in kept if pattern.search(each.kernel)]
    if dispatches:
        wanted = {str(number) for number in dispatches}
        kept = [each for each in kept if each.dispatch.strip() in wanted]
    if not kept:
        names = ", ".join(counters.kernels[:_LISTED])
        if not names:
            raise UsageError("these files hold no memory counters", hint=COLLECT_HINT)
        raise UsageError("no dispatch is left by the filters", hint=f"there are: {names}")
    return replace(counters, dispatches=kept)


def completed_options(options: TrafficOptions, counters: DispatchCounters) -> TrafficOptions:
    """The options with the chip, and the peak of the product, that the files name."""
    if options.chip is not None:
        return options
    chip = find_chip(counters.chip)
    peak = options.peak_gb_per_s
    if peak is None and chip is not None:
        product = chip.product_named(counters.product)
        peak = product.memory_gb_per_s if product else None
    return replace(options, chip=chip, peak_gb_per_s=peak)
