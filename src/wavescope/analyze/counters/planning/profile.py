"""Which counters are collected in which run of the program: for blocks, sets and rooflines.

The hardware reads only so many counters of a block at a time. Runs are planned such that there are
as few as the slots allow, always the same for the same request, and with the counters of a metric
in one run wherever that is possible: what is measured together may be divided by one another.
"""

from __future__ import annotations

import difflib
import functools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wavescope.analyze.counters.catalogue import Catalogue, Metric, definitions
from wavescope.analyze.counters.choice import chosen_blocks, chosen_metrics, wants
from wavescope.analyze.counters.expression import ChannelCounter
from wavescope.errors import UsageError
from wavescope.model.counters import CounterPass
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.workload_layout import ACCUMULATOR_SUFFIX, CHANNELS_SUFFIX


@dataclass(frozen=True)
class ProfileChoice:
    """What is to be measured; everything when nothing is chosen."""

    blocks: tuple[str, ...] = ()
    metric_set: str = ""
    roof_only: bool = False

    def __post_init__(self) -> None:
        if (bool(self.blocks), bool(self.metric_set), self.roof_only).count(True) > 1:
            raise UsageError("-b, --set and --roof-only exclude each other: use only one of them")


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
    levels = definitions("roofline.toml")["level"].values()
    formulas = [*(level["bytes"] for level in levels), catalogue.metrics["flops_total"].value]
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
    shown = catalogue.shown_metrics
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
        for table in catalogue.tables
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


_ALWAYS = ("SQ_WAVES", "GRBM_GUI_ACTIVE")
"""What metrics are normalised by."""
_NOT_COUNTED = frozenset({"ACCUM", "duration"})


@dataclass(frozen=True)
class Slots:
    """How many counters of each block fit into one run."""

    by_block: dict[str, int]
    shared: dict[str, str]

    def block(self, counter: str) -> str:
        """The block whose slots a counter takes."""
        block = counter.partition("_")[0]
        block = self.shared.get(block, block)
        if block not in self.by_block:
            raise UsageError(f"'{counter}' is a counter of no known block")
        return block

    def runs_needed(self, counters: Iterable[str], level_passes: int = 0) -> int:
        """The fewest runs that can collect `counters`."""
        used = Counter(map(self.block, counters))
        runs = (math.ceil(count / self.by_block[block]) for block, count in used.items())
        return max(level_passes, *runs, 0)


@dataclass
class _Run:
    counters: list[str] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)
    level: str = ""


def needed_counters(catalogue: Catalogue, metric: Metric) -> tuple[str, ...]:
    """The counters behind a metric, in order of their names; channels as `NAME[]`."""
    counters = set(needed_by_formula(catalogue, metric.value))
    if metric.peak:
        counters |= set(needed_by_formula(catalogue, metric.peak))
    if metric.level_pass:
        counters |= {metric.level_pass, metric.level_pass + ACCUMULATOR_SUFFIX}
    return tuple(sorted(counters))


def needed_by_formula(catalogue: Catalogue, formula: str) -> tuple[str, ...]:
    """The counters that a formula needs and the chip has, in order of their names."""
    counters = set()
    for need in catalogue.needs(formula):
        if isinstance(need, ChannelCounter):
            counters.add(need.family + CHANNELS_SUFFIX)
        elif not (
            need.name in _NOT_COUNTED
            or need.name in catalogue.facts
            or need.name in catalogue.launch
        ):
            counters.add(need.name)
    return tuple(sorted(counters.difference(catalogue.lacked(counters))))


def planned_passes(
    groups: Sequence[Sequence[str]], slots: Slots | None = None
) -> list[CounterPass]:
    """Runs that collect every counter of `groups` (the counters of each metric).

    A level counter has a run of its own name, because its accumulator can serve only one.
    """
    slots = slots or known_slots()
    counters = sorted({counter for group in groups for counter in group} | set(_ALWAYS))
    levels = [each.removesuffix(ACCUMULATOR_SUFFIX) for each in counters if _is_accumulated(each)]
    plan = _Plan(slots, slots.runs_needed(counters, len(levels)))
    for level in levels:
        plan.add_run(level, (level, level + ACCUMULATOR_SUFFIX))
    plan.place(_ALWAYS)
    for group in sorted(groups, key=lambda group: (-len(group), *group)):
        plan.place(tuple(sorted(set(group))))
    return plan.passes()


def _is_accumulated(counter: str) -> bool:
    return counter.endswith(ACCUMULATOR_SUFFIX)


class _Plan:
    """Runs being filled; `fewest` of them are needed, and no more are opened for comfort."""

    def __init__(self, slots: Slots, fewest: int) -> None:
        self._slots = slots
        self._fewest = fewest
        self._runs: list[_Run] = []
        self._placed: dict[str, _Run] = {}

    def add_run(self, level: str, counters: Sequence[str]) -> _Run:
        run = _Run(level=level)
        self._runs.append(run)
        for counter in counters:
            self._put(counter, run)
        return run

    def place(self, group: Sequence[str]) -> None:
        """Put what is not yet placed of `group` together if it fits anywhere, else one by one."""
        missing = [counter for counter in group if counter not in self._placed]
        if not missing:
            return
        neighbours = Counter(id(self._placed[each]) for each in group if each in self._placed)
        by_company = sorted(self._runs, key=lambda run: -neighbours[id(run)])
        for run in by_company:
            if self._fits(missing, run):
                break
        else:
            if len(self._runs) >= self._fewest:
                for counter in missing:
                    self._place_alone(counter, by_company)
                return
            run = self.add_run("", ())
            if not self._fits(missing, run):
                for counter in missing:
                    self._place_alone(counter, [run, *by_company])
                return
        for counter in missing:
            self._put(counter, run)

    def passes(self) -> list[CounterPass]:
        plain = (run for run in self._runs if not run.level)
        named = {id(run): f"pmc_perf_{number}" for number, run in enumerate(plain)}
        return [CounterPass(run.level or named[id(run)], tuple(run.counters)) for run in self._runs]

    def _place_alone(self, counter: str, runs: Sequence[_Run]) -> None:
        for run in (*runs, *self._runs):
            if self._fits([counter], run):
                break
        else:
            run = self.add_run("", ())
        self._put(counter, run)

    def _fits(self, counters: Sequence[str], run: _Run) -> bool:
        added = Counter(map(self._slots.block, counters))
        return all(
            run.used[block] + count <= self._slots.by_block[block] for block, count in added.items()
        )

    def _put(self, counter: str, run: _Run) -> None:
        run.counters.append(counter)
        run.used[self._slots.block(counter)] += 1
        self._placed[counter] = run


@functools.cache
def known_slots() -> Slots:
    """The slots of the chips in the catalogue, which all have the same."""
    content = definitions("slots.toml")
    return Slots(content["slots"], content["shared"])
