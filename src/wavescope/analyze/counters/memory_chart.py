"""Panel 3 as boxes: what each part of the memory hierarchy did, and what went between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.counters.metric_values import MetricValues

NOT_AVAILABLE = "N/A"
_CHART_TABLE = "3.1"


class ChartBox(NamedTuple):
    """A part of the chip: a title, and labels with the row of panel 3 that fills each."""

    key: str
    title: str
    lines: tuple[tuple[str, str, str], ...]
    """Label, row of the panel, unit."""


BOXES = (
    ChartBox(
        "kernel",
        "Kernel",
        (
            ("wavefronts", "Wavefronts", ""),
            ("workgroups", "Workgroups", ""),
            ("VGPRs", "VGPR", ""),
            ("SGPRs", "SGPR", ""),
            ("LDS", "LDS Allocation", "B"),
            ("scratch", "Scratch Allocation", "B"),
        ),
    ),
    ChartBox(
        "waves",
        "Waves",
        (
            ("waves/CU", "Wavefront Occupancy", ""),
            ("life", "Wave Life", "cycles"),
            ("active CUs", "Active CUs", ""),
            ("of CUs", "Num CUs", ""),
        ),
    ),
    ChartBox(
        "instructions",
        "Instructions",
        (
            ("VALU", "VALU", ""),
            ("MFMA", "MFMA", ""),
            ("SALU", "SALU", ""),
            ("VMEM", "VMEM", ""),
            ("SMEM", "SMEM", ""),
            ("LDS", "LDS", ""),
            ("branch", "BR", ""),
            ("GWS", "GWS", ""),
        ),
    ),
    ChartBox(
        "lds",
        "LDS",
        (
            ("requests", "LDS Req", ""),
            ("busy", "LDS Util", "%"),
            ("latency", "LDS Latency", "cycles"),
        ),
    ),
    ChartBox(
        "vl1d",
        "Vector L1",
        (
            ("reads", "VL1 Rd", ""),
            ("writes", "VL1 Wr", ""),
            ("atomics", "VL1 Atomic", ""),
            ("hit", "VL1 Hit", "%"),
            ("latency", "VL1 Lat", "cycles"),
            ("coalesced", "VL1 Coalesce", "%"),
            ("stalled", "VL1 Stall", "%"),
        ),
    ),
    ChartBox(
        "sl1d",
        "Scalar L1",
        (
            ("reads", "sL1D Rd", ""),
            ("hit", "sL1D Hit", "%"),
            ("latency", "sL1D Lat", "cycles"),
        ),
    ),
    ChartBox(
        "l1i",
        "Instruction L1",
        (
            ("fetches", "IL1 Fetch", ""),
            ("hit", "IL1 Hit", "%"),
            ("latency", "IL1 Lat", "cycles"),
        ),
    ),
    ChartBox(
        "l2",
        "L2",
        (
            ("reads", "L2 Rd", ""),
            ("writes", "L2 Wr", ""),
            ("atomics", "L2 Atomic", ""),
            ("hit", "L2 Hit", "%"),
            ("read lat.", "L2 Rd Lat", "cycles"),
            ("write lat.", "L2 Wr Lat", "cycles"),
        ),
    ),
    ChartBox(
        "fabric",
        "Infinity Fabric",
        (
            ("read lat.", "Fabric Rd Lat", "cycles"),
            ("write lat.", "Fabric Wr Lat", "cycles"),
            ("atomic lat.", "Fabric Atomic Lat", "cycles"),
        ),
    ),
    ChartBox("hbm", "HBM", (("reads", "HBM Rd", ""), ("writes", "HBM Wr", ""))),
)

FLOWS: dict[str, tuple[tuple[str, str], ...]] = {
    "vl1d": (("rd", "VL1_L2 Rd"), ("wr", "VL1_L2 Wr"), ("at", "VL1_L2 Atomic")),
    "sl1d": (("rd", "sL1D_L2 Rd"), ("wr", "sL1D_L2 Wr"), ("at", "sL1D_L2 Atomic")),
    "l1i": (("rd", "IL1_L2 Rd"),),
    "l2": (("rd", "Fabric_L2 Rd"), ("wr", "Fabric_L2 Wr"), ("at", "Fabric_L2 Atomic")),
}
"""By box: what goes from it to the next level."""


def chart_values(values: MetricValues) -> dict[str, str]:
    """The rows of panel 3 as text by their names; what is not there reads N/A."""
    found = {}
    catalogue = values.measured.catalogue
    with np.errstate(all="ignore"):
        for panel in catalogue.panels:
            for table in panel.tables:
                if table.id == _CHART_TABLE:
                    for row in table.rows:
                        metric = catalogue.metric_of(row)
                        value = values.single(metric, rounded=True).statistics["avg"]
                        found[row.name] = NOT_AVAILABLE if value is None else _short(value)
    return found


def _short(value: float) -> str:
    """At most seven characters: 16,384, 1.05M."""
    if abs(value) < 1e6:
        return f"{value:,.0f}"
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
