"""Which workloads of counters a command is about: flags, reading, corrections, own metrics."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.inputs import COUNTER_FOLDER, add_metrics_flag
from wavescope.cli.options import add_kernel_flag
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.counters.catalogue import Catalogue
    from wavescope.analyze.counters.report import AnalysisOptions
    from wavescope.model.counters import CounterTable


def add_workload_flags(parser: argparse.ArgumentParser) -> None:
    """Which workloads, dispatches and definitions are meant; `roofline` has them too."""
    parser.add_argument(
        "-p",
        "--path",
        metavar="DIR",
        type=COUNTER_FOLDER,
        nargs="+",
        action="append",
        required=True,
        help="workload folder; several are compared, the first is the baseline",
    )
    group = parser.add_argument_group("filters")
    add_kernel_flag(group, "kernels whose name matches somewhere")
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
    add_metrics_flag(group, "TOML file of your own metrics, shown as panel 100 (docs/metrics.md)")


def analysis_options(arguments: argparse.Namespace) -> AnalysisOptions:
    """What the flags say; those a command lacks keep their defaults."""
    from wavescope.analyze.counters.aggregation import Aggregation, NormalUnit  # noqa: PLC0415
    from wavescope.analyze.counters.pc_sampling import SampleOrder  # noqa: PLC0415
    from wavescope.analyze.counters.report import AnalysisOptions  # noqa: PLC0415

    return AnalysisOptions(
        tuple(getattr(arguments, "block", ())),
        tuple(arguments.kernels),
        tuple(arguments.dispatch),
        tuple(arguments.gpu_id),
        NormalUnit(getattr(arguments, "normal_unit", "per_kernel")),
        Aggregation(getattr(arguments, "aggregation", "ratio-of-sums")),
        SampleOrder(getattr(arguments, "pc_sampling_sorting_type", "count")),
        arguments.kernel,
    )


def read_workloads(arguments: argparse.Namespace) -> list[CounterTable]:
    """The workloads of -p with the corrections applied, each folder once."""
    from wavescope.formats.counters import read_workload  # noqa: PLC0415  slow to import

    paths = [Path(path) for group in arguments.path for path in group]
    seen: set[str] = set()
    for path in paths:
        place = os.path.realpath(path)
        if place in seen:
            raise UsageError(f"{path} is given twice")
        seen.add(place)
    corrections = _corrections(arguments.specs_correction)
    return [read_workload(path).with_facts(corrections) for path in paths]


def catalogue_of(workload: CounterTable, files: list[str]) -> Catalogue:
    """The catalogue of the workload's chip with the user's own metrics."""
    from wavescope.analyze.counters.catalogue import CHIPS, catalogue_for  # noqa: PLC0415
    from wavescope.analyze.counters.own_metrics import with_own_metrics  # noqa: PLC0415
    from wavescope.errors import UnreadableInputError  # noqa: PLC0415
    from wavescope.formats.toml_rules import read_rules  # noqa: PLC0415

    if workload.chip not in CHIPS:
        raise UnreadableInputError(
            workload.path,
            f"there are no metrics for its chip '{workload.chip}'",
            hint=f"known chips: {', '.join(CHIPS)}",
        )
    catalogue = catalogue_for(workload.chip)
    for file in files:
        catalogue = with_own_metrics(catalogue, read_rules(file))
    return catalogue


def _corrections(text: str) -> dict[str, float]:
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, number = part.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not colon or not value > 0:
            raise UsageError(f"'{part}' is no correction", hint="write max_sclk:2100,max_mclk:1300")
        found[name.strip()] = value
    if found:
        _require_facts(found)
    return found


def _require_facts(found: dict[str, float]) -> None:
    import difflib  # noqa: PLC0415  only for mistakes

    from wavescope.analyze.counters.catalogue import BASE_CHIP, catalogue_for  # noqa: PLC0415

    known = catalogue_for(BASE_CHIP).facts
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(name, known, 2)
            raise UsageError(
                f"there is no fact '{name}'",
                hint=f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}",
            )
