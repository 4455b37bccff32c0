"""Flags of the commands that analyse workloads of counters, and the plain values they become."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wavescope.cli.inputs import COUNTER_FOLDER, add_metrics_flag
from wavescope.cli.options import add_kernel_flag
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.api.counters import CounterOptions


def add_workload_flags(parser: argparse.ArgumentParser) -> None:
    """Which workloads, dispatches and definitions are meant; `roofline` has them too."""
    parser.add_argument(
        "path",
        metavar="DIR",
        type=COUNTER_FOLDER,
        nargs="*",
        action="append",
        help="workload folder; several are compared, the first is the baseline",
    )
    parser.add_argument(
        "-p",
        "--path",
        metavar="DIR",
        type=COUNTER_FOLDER,
        nargs="+",
        action="append",
        help="the same as DIR",
    )
    group = parser.add_argument_group("filters")
    add_kernel_flag(group, "only kernels whose name contains a match")
    group.add_argument(
        "-k",
        dest="kernels",
        metavar="KERNEL",
        nargs="+",
        default=[],
        help="kernels by their ids of --list-stats, or by parts of their names",
    )
    group.add_argument(
        "-d",
        "--dispatch",
        metavar="N",
        nargs="+",
        default=[],
        help="dispatch ids: 5, 3:7 (both included) or '>10'",
    )
    group.add_argument(
        "--gpu-id", metavar="N", nargs="+", default=[], help="dispatches of these GPUs"
    )
    group.add_argument(
        "--specs-correction",
        metavar="NAME:VALUE,...",
        default="",
        help="facts of the chip that sysinfo.csv has wrong or not: max_sclk:2100,max_mclk:1300",
    )
    add_metrics_flag(group, "TOML file with your own metrics, shown as panel 100 (docs/metrics.md)")


def workload_paths(arguments: argparse.Namespace) -> list[str]:
    """The folders that are named, by -p or without."""
    paths = [path for group in arguments.path for path in group]
    if not paths:
        raise UsageError(
            "no counter folder was given", hint="wavescope counters workloads/vcopy/MI200"
        )
    return paths


def analysis_options(arguments: argparse.Namespace) -> CounterOptions:
    """What the flags say; those a command lacks keep their defaults."""
    from wavescope.api.counters import (  # noqa: PLC0415  NumPy, which --help need not wait for
        Aggregation,
        CounterOptions,
        NormalUnit,
        SampleOrder,
    )

    return CounterOptions(
        tuple(getattr(arguments, "block", ())),
        tuple(arguments.kernels),
        tuple(arguments.dispatch),
        tuple(arguments.gpu_id),
        NormalUnit(getattr(arguments, "normal_unit", "per_kernel")),
        Aggregation(getattr(arguments, "aggregation", "ratio-of-sums")),
        SampleOrder(getattr(arguments, "pc_sampling_sorting_type", "count")),
        arguments.kernel,
    )


def corrected_facts(text: str) -> dict[str, float]:
    """The numbers of `max_sclk:2100,max_mclk:1300`."""
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, number = part.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not colon or not value > 0:
            raise UsageError(
                f"'{part}' is not a correction", hint="write max_sclk:2100,max_mclk:1300"
            )
        found[name.strip()] = value
    return found
