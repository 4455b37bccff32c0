"""What `counters collect` collects: from blocks, sets and rooflines to passes of counters."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.analyze.counters.catalogue import Catalogue, definitions
from wavescope.analyze.counters.choice import chosen_blocks, wants
from wavescope.analyze.counters.pass_plan import (
    chosen_metrics,
    known_slots,
    needed_by_formula,
    needed_counters,
    planned_passes,
)
from wavescope.analyze.counters.roofline import BYTES
from wavescope.errors import UsageError
from wavescope.model.counters import CounterPass
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value


@dataclass(frozen=True)
class ProfileChoice:
    """What is to be measured; everything when nothing is chosen."""

    blocks: tuple[str, ...] = ()
    metric_set: str = ""
    roof_only: bool = False

    def __post_init__(self) -> None:
        if (bool(self.blocks), bool(self.metric_set), self.roof_only).count(True) > 1:
            raise UsageError("-b, --set and --roof-only cannot be used together")


_ROOFLINE = "roofline"


class MetricSet(NamedTuple):
    """Metrics that one run can collect."""

    name: str
    title: str
    metrics: tuple[str, ...]


def profile_passes(
    catalogue: Catalogue, choice: ProfileChoice, collected: Collection[str] = ()
) -> list[CounterPass]:
    """The runs that collect what is chosen and not yet `collected`."""
    groups = []
    for group in _groups(catalogue, choice):
        missing = tuple(counter for counter in group if counter not in collected)
        if missing:
            groups.append(missing)
    if not groups and collected:
        return []
    return planned_passes(groups)


def wants_pc_samples(catalogue: Catalogue, choice: ProfileChoice) -> bool:
    """Whether panel 21 was asked for by name: it takes a run of its own, and not every chip can."""
    chosen = chosen_blocks(catalogue, choice.blocks)
    return chosen is not None and wants(chosen, "21.1")


def _groups(catalogue: Catalogue, choice: ProfileChoice) -> list[tuple[str, ...]]:
    if choice.roof_only:
        return _roofline_groups(catalogue)
    if choice.metric_set:
        metrics = [
            catalogue.metrics[key] for key in metric_set(catalogue, choice.metric_set).metrics
        ]
        return [needed_counters(catalogue, metric) for metric in metrics]
    chosen = chosen_blocks(catalogue, choice.blocks)
    groups = [needed_counters(catalogue, each) for each in chosen_metrics(catalogue, chosen)]
    wants_roofline = any(wants(chosen, table) for table in ("4.1", "4.2"))
    return groups + (_roofline_groups(catalogue) if wants_roofline else [])


def _roofline_groups(catalogue: Catalogue) -> list[tuple[str, ...]]:
    """What kernels are placed by in a roofline: their operations, and bytes at every level."""
    formulas = [*BYTES.values(), catalogue.metrics["flops_total"].value]
    return [needed_by_formula(catalogue, formula) for formula in formulas]


def metric_set(catalogue: Catalogue, name: str) -> MetricSet:
    """A set by name, with the metrics that the chip has."""
    sets = {each.name: each for each in metric_sets(catalogue)}
    if name not in sets:
        near = difflib.get_close_matches(name, sets, 1)
        raise UsageError(
            f"there is no set '{name}'",
            hint=f"did you mean {near[0]}?" if near else f"there are: {', '.join(sets)}",
        )
    return sets[name]


def metric_sets(catalogue: Catalogue) -> list[MetricSet]:
    """All sets, with the metrics that the chip has."""
    shown = {
        row.metric for panel in catalogue.panels for table in panel.tables for row in table.rows
    }
    return [
        MetricSet(name, title, tuple(key for key in keys if key in shown))
        for name, title, keys in _sets()
    ]


def sets_result(catalogue: Catalogue) -> Result:
    """The sets of a chip as a table."""
    columns = (
        ResultColumn("set", "Set", Unit.NAME, "name for --set"),
        ResultColumn("title", "Title", Unit.NONE, "what it tells"),
        ResultColumn("metric", "Metric", Unit.NAME, "in it"),
        ResultColumn("id", "Id", Unit.NAME, "where it is shown"),
        ResultColumn("key", "Key", Unit.NONE, "the metric's name on all chips"),
    )
    # A metric of the overview is shown once more, in the panel of its block, which comes later.
    places = {
        row.metric: (row.name, f"{table.id}.{at}")
        for panel in catalogue.panels
        for table in panel.tables
        for at, row in enumerate(table.rows)
    }
    rows = [
        (each.name, each.title, *places[key], key)
        for each in metric_sets(catalogue)
        for key in each.metrics
    ]
    return Result(
        "Sets", [ResultTable("sets", "Sets", columns, list(rows))], facts={"chip": catalogue.chip}
    )


def blocks_result(catalogue: Catalogue) -> Result:
    """The panels of a chip as a table."""
    columns = (
        ResultColumn("id", "Id", Unit.NONE, "number for -b"),
        ResultColumn("alias", "Alias", Unit.NAME, "name for -b"),
        ResultColumn("title", "Title", Unit.NONE, "what it shows"),
        ResultColumn("runs", "Runs", Unit.COUNT, "runs of the program that it takes alone"),
    )
    rows = []
    for panel in catalogue.all_panels:
        choice = ProfileChoice((str(panel.id),))
        sampling = int(wants_pc_samples(catalogue, choice))
        runs = sampling or len(profile_passes(catalogue, choice))
        is_collected = panel.tables or sampling or panel.alias == _ROOFLINE
        rows.append((str(panel.id), panel.alias, panel.title, runs if is_collected else None))
    return Result(
        "Blocks",
        [ResultTable("blocks", "Blocks", columns, list(rows))],
        facts={"chip": catalogue.chip},
    )


def plan_result(catalogue: Catalogue, passes: list[CounterPass]) -> Result:
    """What each run would collect, and how many metrics are measured in one run."""
    columns = (
        ResultColumn("run", "Run", Unit.NAME, "pass, and the file its counters go to"),
        ResultColumn("counters", "Counters", Unit.COUNT, "counters in it"),
        ResultColumn("names", "Names", Unit.NONE, "what they are called"),
    )
    rows = [(each.name, len(each.counters), " ".join(each.counters)) for each in passes]
    run_of = {counter: each.name for each in passes for counter in each.counters}
    needs = [needed_counters(catalogue, metric) for metric in chosen_metrics(catalogue, None)]
    covered = [need for need in needs if need and all(counter in run_of for counter in need)]
    together = sum(len({run_of[counter] for counter in need}) == 1 for need in covered)
    facts: dict[str, Value] = {
        "chip": catalogue.chip,
        "run_count": len(passes),
        "fewest_runs_possible": known_slots().runs_needed(run_of),
        "metric_count": len(covered),
        "metrics_of_one_run": together,
    }
    return Result("Plan", [ResultTable("runs", "Runs", columns, list(rows))], facts=facts)


@functools.cache
def _sets() -> list[tuple[str, str, tuple[str, ...]]]:
    content = definitions("sets.toml")
    return [(name, entry["title"], tuple(entry["metrics"])) for name, entry in content.items()]
