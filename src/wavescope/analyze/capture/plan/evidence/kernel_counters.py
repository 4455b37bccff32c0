"""The counters of a traced kernel among those of other runs, found by its name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.traffic.kernel_traffic import KernelTraffic, TrafficOptions, kernel_traffic
from wavescope.errors import UsageError
from wavescope.model.chips import Chip, find_chip
from wavescope.model.dispatch_counters import DispatchCounters
from wavescope.names.kernel_names import short_name

_LISTED = 5


@dataclass(frozen=True)
class KernelCounters:
    """Counter values of a kernel from another run, means per dispatch."""

    traffic: KernelTraffic | None
    values: dict[str, float]

    @classmethod
    def of_capture(cls, analysis: CaptureAnalysis, counters: DispatchCounters) -> KernelCounters:
        """The counters of the kernel that was traced, on the chip that either of them names."""
        chip = find_chip(analysis.chip.name) or find_chip(counters.chip)
        return cls.of_kernel(counters, analysis.capture.kernel_name, chip)

    @classmethod
    def of_kernel(
        cls, counters: DispatchCounters, kernel: str, chip: Chip | None
    ) -> KernelCounters:
        """Means over the dispatches of `kernel`; a usage error where there are none."""
        names = _same_kernel(counters.kernels, kernel)
        chosen = [each for each in counters.dispatches if each.kernel in names]
        if not chosen:
            listed = ", ".join(short_name(name) for name in counters.kernels[:_LISTED]) or "none"
            raise UsageError(
                f"the counters are of other kernels than {short_name(kernel) or 'the traced one'}",
                hint=f"they are of: {listed}",
            )
        alike = [each._replace(kernel=kernel) for each in chosen]
        traffic = kernel_traffic(replace(counters, dispatches=alike), TrafficOptions(chip))
        sums: dict[str, float] = {}
        counts: dict[str, int] = {}
        for dispatch in chosen:
            for name, value in dispatch.values.items():
                sums[name] = sums.get(name, 0.0) + value
                counts[name] = counts.get(name, 0) + 1
        means = {name: value / counts[name] for name, value in sums.items()}
        return cls(traffic[0] if traffic else None, means)


def _same_kernel(names: list[str], kernel: str) -> set[str]:
    """Names that are the kernel's: the same, else the same when shortened."""
    if kernel in names:
        return {kernel}
    wanted = short_name(kernel)
    return {name for name in names if wanted and short_name(name) == wanted}
