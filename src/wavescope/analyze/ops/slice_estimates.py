"""What slices say of the whole run: totals and shares of groups of ops, with 95 % intervals.

docs/definitions.md publishes the estimators. Slices are clusters; each process is a stratum. The
total of a group is (kernels counted / kernels in slices) times what its ops took in the slices.
Variances are those of ratio estimators, linearised; a process that was recorded whole adds its sums
and no variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.recorded import FEWEST_SLICES, Population, Recorded
from wavescope.arrays import Array
from wavescope.arrays.student_t import quantile
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import ResultColumn, Unit, Value

Values = npt.NDArray[np.float64]

_CONFIDENCE = 0.95
_GROUPS_AT_ONCE = 256


class Estimate(NamedTuple):
    """A value for the whole run and its 95 % interval; no interval where slices are too few."""

    value: float
    low: float | None
    high: float | None


ESTIMATE_COLUMNS = (
    ResultColumn("percent", "%", Unit.PERCENT, "estimated share of the time listed here"),
    ResultColumn("low_percent", "% low", Unit.PERCENT, "lower end of its 95 % interval"),
    ResultColumn("high_percent", "% high", Unit.PERCENT, "upper end of its 95 % interval"),
    ResultColumn("estimated_total_ns", "Est. total", Unit.NS, "estimated for the whole run"),
    ResultColumn("estimated_total_low_ns", "low", Unit.NS, "lower end of its 95 % interval"),
    ResultColumn("estimated_total_high_ns", "high", Unit.NS, "upper end of its 95 % interval"),
    ResultColumn("estimated_calls", "Est. calls", Unit.COUNT, "estimated for the whole run"),
    ResultColumn("estimated_calls_low", "low", Unit.COUNT, "lower end of its 95 % interval"),
    ResultColumn("estimated_calls_high", "high", Unit.COUNT, "upper end of its 95 % interval"),
)


def _values(estimate: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if estimate is None else estimate


class GroupEstimates(NamedTuple):
    """For each group: its share in percent of the scope's time, its total and its count."""

    shares: list[Estimate | None]
    totals_ns: list[Estimate | None]
    counts: list[Estimate | None]

    def row(self, group: int) -> tuple[Value, ...]:
        """The values of `ESTIMATE_COLUMNS` for one group."""
        share, total, count = self.shares[group], self.totals_ns[group], self.counts[group]
        return (
            *_values(share),
            *(None if value is None else round(value) for value in _values(total)),
            *(None if value is None else round(value) for value in _values(count)),
        )


class GroupedOps(NamedTuple):
    """Some ops of a trace, each in a group."""

    rows: Array
    groups: Array
    """Of each of the rows, from 0."""
    durations_ns: Array
    group_count: int
    scope_of_group: Array | None = None
    """A share is of the groups with the same scope; None: of all."""


class _Stratum(NamedTuple):
    """One process: the ops of its slices, and how much they stand for."""

    groups: Array
    durations_ns: Values
    cluster: Array
    """For each op the number of its slice, from 0."""
    slice_count: int
    is_sampled: bool
    """Not where a process was recorded whole."""
    base: Values
    """Kernels in each slice."""
    scale: float | None
    """What a sum over slices is multiplied by; None where the size of the run is not known."""

    @property
    def unseen_share(self) -> float:
        """Of the run: where all was seen nothing is uncertain."""
        return 1.0 if self.scale is None else 1 - 1 / self.scale

    def sums(self, group_count: int) -> tuple[Values, Values]:
        """Time and number of the ops of each group."""
        return (
            np.bincount(self.groups, self.durations_ns, group_count).astype(np.float64),
            np.bincount(self.groups, minlength=group_count).astype(np.float64),
        )

    def by_slice(self, groups: Array, values: Values, first: int, stop: int) -> Values:
        """[slice, group]: the sums of the groups from `first` to `stop` in each slice."""
        width = stop - first
        inside = (groups >= first) & (groups < stop)
        cells = self.cluster[inside] * width + (groups[inside] - first)
        sums = np.bincount(cells, values[inside], self.slice_count * width)
        return sums.astype(np.float64).reshape(-1, width)

    def residuals(self, sums: Values) -> Values:
        """How far each slice is from what its base lets expect."""
        whole = float(self.base.sum())
        expected = np.outer(self.base, sums.sum(axis=0) / whole) if whole else sums.mean(axis=0)
        away: Values = np.subtract(sums, expected)
        return away


class _Shares(NamedTuple):
    """The share of each group, and what it is of."""

    values: Values
    whole_ns: Values
    scopes: Array


def estimated_groups(found: Recorded, ops: GroupedOps) -> GroupEstimates:
    """Estimates for groups of ops of `found.trace`.

    Ops that do not stand for what ran (see `Recorded.is_seen`) are left out.
    """
    strata = _strata(found, ops)
    count = ops.group_count
    is_known = all(stratum.scale is not None for stratum in strata)
    # Where the size of one run is not known, what was seen of each counts alike.
    weights = [(stratum.scale or 1.0) if is_known else 1.0 for stratum in strata]
    sums = np.array([stratum.sums(count) for stratum in strata])
    totals, counts = np.tensordot(weights, sums, 1)
    shares = _shares(totals, ops)
    variances = np.zeros((3, count))
    for stratum, weight in zip(strata, weights, strict=True):
        variances += weight**2 * _variances(stratum, shares)
    errors = np.sqrt(variances)
    reach = reach_or_none([stratum.slice_count for stratum in strata if stratum.is_sampled])
    seen_ns, seen_count = sums.sum(axis=0)
    nothing: list[Estimate | None] = [None] * count
    return GroupEstimates(
        _within(100 * shares.values, 100 * errors[0], reach, (np.zeros(count), 100.0)),
        _within(totals, errors[1], reach, (seen_ns, np.inf)) if is_known else nothing,
        _within(counts, errors[2], reach, (seen_count, np.inf)) if is_known else nothing,
    )


def _shares(totals: Values, ops: GroupedOps) -> _Shares:
    scopes = ops.scope_of_group
    scopes = np.zeros(ops.group_count, np.int64) if scopes is None else scopes
    whole = np.bincount(scopes, totals)[scopes].astype(np.float64)
    values = np.divide(totals, whole, out=np.zeros(len(totals)), where=whole > 0)
    return _Shares(values, whole, scopes)


def _strata(found: Recorded, ops: GroupedOps) -> list[_Stratum]:
    """The ops of each process that were seen."""
    seen = found.is_seen[ops.rows]
    rows, groups = ops.rows[seen], ops.groups[seen].astype(np.int64)
    durations = ops.durations_ns[seen].astype(np.float64)
    slices, owners = found.slice_of_op[rows], found.trace.ops["process"][rows]
    strata = []
    for population in found.populations.values():
        mine = owners == population.process
        pieces = np.flatnonzero(found.processes == population.process)
        clusters, of_piece = np.unique(found.cluster_of[pieces], return_inverse=True)
        cluster = of_piece[np.searchsorted(pieces, slices[mine])]
        base, scale = _scaled(found, population, pieces)
        base = np.bincount(of_piece, base, len(clusters)).astype(np.float64)
        strata.append(
            _Stratum(groups[mine], durations[mine], cluster, len(clusters), True, base, scale)
        )
    others = ~np.isin(owners, sorted(found.sampled_processes))
    cluster = np.zeros(np.count_nonzero(others), np.int64)
    strata.append(_Stratum(groups[others], durations[others], cluster, 0, False, np.zeros(0), 1.0))
    return strata


def _scaled(found: Recorded, population: Population, pieces: Array) -> tuple[Values, float | None]:
    """The kernels of each slice, and how many times as many there were in the run.

    Slices begin with a launch: time in which a program launches nothing is in none of them, so that
    nothing can be scaled by time. Where kernels were not counted there is no scale.
    """
    base = kernels_of_slices(found)[pieces]
    if population.kernel_count is None or not base.any():
        return base, None
    return base, max(population.kernel_count / float(base.sum()), 1.0)


def kernels_of_slices(found: Recorded) -> Values:
    """Kernels in each slice, also those that a selection by name or GPU leaves out."""
    whole = found.trace.whole
    whole.ops.load("process", "start_ns")
    kernels = whole.op_kind == OpKind.KERNEL
    slices = found.slice_of(whole.ops["process"][kernels], whole.ops["start_ns"][kernels])
    return np.bincount(slices[slices >= 0], minlength=len(found)).astype(np.float64)


def _variances(stratum: _Stratum, shares: _Shares) -> Values:
    """Of one process and for each group those of share, total and count, before its weight."""
    group_count, slices = len(shares.values), stratum.slice_count
    variances = np.zeros((3, group_count))
    if slices < 2:
        return variances
    times, calls = stratum.durations_ns, np.ones(len(stratum.groups))
    scope_count = int(shares.scopes.max(initial=0)) + 1
    of_scopes = stratum.by_slice(shares.scopes[stratum.groups], times, 0, scope_count)
    of_scopes = stratum.residuals(of_scopes)
    for first in range(0, group_count, _GROUPS_AT_ONCE):
        stop = min(first + _GROUPS_AT_ONCE, group_count)
        part = slice(first, stop)
        time = stratum.residuals(stratum.by_slice(stratum.groups, times, first, stop))
        call = stratum.residuals(stratum.by_slice(stratum.groups, calls, first, stop))
        share = time - shares.values[part] * of_scopes[:, shares.scopes[part]]
        share /= np.maximum(shares.whole_ns[part], 1.0)
        variances[:, part] = [(away**2).sum(axis=0) for away in (share, time, call)]
    variances *= stratum.unseen_share * slices / (slices - 1)
    return variances


def reach_or_none(slice_counts: list[int]) -> float | None:
    """How many standard errors an interval reaches; None where slices are too few for one."""
    if slice_counts and min(slice_counts) < FEWEST_SLICES:
        return None
    return reach_of(slice_counts)


def reach_of(slice_counts: list[int]) -> float:
    """How many standard errors an interval reaches, by the slices of each process."""
    if not slice_counts:
        return 0.0
    return quantile((1 + _CONFIDENCE) / 2, sum(count - 1 for count in slice_counts))


def _within(
    values: Values, errors: Values, reach: float | None, bounds: tuple[Values, float]
) -> list[Estimate | None]:
    """The values with their intervals, within what is possible: what was seen, ran."""
    if reach is None:
        return [Estimate(value, None, None) for value in values.tolist()]
    lows = np.maximum(values - reach * errors, bounds[0])
    highs = np.minimum(values + reach * errors, bounds[1])
    columns = (values.tolist(), lows.tolist(), highs.tolist())
    return [Estimate(*each) for each in zip(*columns, strict=True)]
