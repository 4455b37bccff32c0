"""Which counters are collected in which run of the program.

The hardware reads only so many counters of a block at a time. Runs are planned such that there are
as few as the slots allow, always the same for the same request, and with the counters of a metric
in one run wherever that is possible: what is measured together may be divided by one another.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wavescope.analyze.counters.catalogue import Catalogue, Metric, definitions
from wavescope.analyze.counters.expression import ChannelCounter
from wavescope.errors import UsageError
from wavescope.model.counters import CounterPass
from wavescope.model.workload_layout import ACCUMULATOR_SUFFIX, CHANNELS_SUFFIX

_ALWAYS = ("SQ_WAVES", "GRBM_GUI_ACTIVE")
"""What metrics are normalised by."""
_NOT_COUNTED = frozenset({"ACCUM", "duration"})


@dataclass(frozen=True)
class Slots:
    """How many counters of each block fit into one run."""

    by_block: dict[str, int]
    shared: dict[str, str]
    lacking: dict[str, re.Pattern[str]] = field(default_factory=dict)

    def lacks(self, chip: str, counter: str) -> bool:
        """Whether a chip does not have a counter."""
        pattern = self.lacking.get(chip)
        return pattern is not None and pattern.search(counter) is not None

    def block(self, counter: str) -> str:
        """The block whose slots a counter takes."""
        block = counter.partition("_")[0]
        block = self.shared.get(block, block)
        if block not in self.by_block:
            raise UsageError(f"the counter '{counter}' belongs to no known block")
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


def lacked_counters(chip: str, counters: Iterable[str]) -> list[str]:
    """Those of `counters` that formulas mention and the chip does not have."""
    slots = known_slots()
    return [each for each in counters if slots.lacks(chip, each)]


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
    return tuple(sorted(counters.difference(lacked_counters(catalogue.chip, counters))))


def chosen_metrics(catalogue: Catalogue, chosen: frozenset[str] | None) -> list[Metric]:
    """The metrics of the chosen panels, tables and rows, each once; all when nothing is chosen."""
    keys: dict[str, None] = {}
    for panel in catalogue.panels:
        for table in panel.tables:
            for at, row in enumerate(table.rows):
                ids = {str(panel.id), table.id, f"{table.id}.{at}"}
                if chosen is None or ids & chosen or _has_chosen_channel(table.id, chosen):
                    keys[row.metric] = None
    return [catalogue.metrics[key] for key in keys]


def _has_chosen_channel(table_id: str, chosen: frozenset[str]) -> bool:
    return table_id.startswith("18.") and any(each.startswith(f"{table_id}.") for each in chosen)


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
    lacking = {chip: re.compile(pattern) for chip, pattern in content["lacking"].items()}
    return Slots(content["slots"], content["shared"], lacking)
