"""The occupancy of a traced kernel: what fits by its facts, and what was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.capture.coverage import capture_findings
from wavescope.analyze.capture.traced_chip import chip_evidence
from wavescope.analyze.occupancy import (
    KernelResources,
    Occupancy,
    StatedResources,
    occupancy_of,
    occupancy_result,
)
from wavescope.errors import UsageError
from wavescope.model.capture import Capture, Integers, KernelFacts, WaveOccupancy
from wavescope.model.chips.chip_table import Accumulators, Chip
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
    table_of,
)

_SINGLE = {kind: re.compile(rf"\b{kind}(\d{{1,3}})\b", re.ASCII) for kind in "vas"}
_RANGE_END = {kind: re.compile(rf"\b{kind}\[\d{{1,3}}:(\d{{1,3}})\]", re.ASCII) for kind in "vas"}
_LDS_ACCESS = re.compile(
    r"ds_(?!bpermute|permute|swizzle|nop|gws)|(buffer|global)_load_\w*lds|buffer_load_.*\blds\b",
    re.ASCII,
)
Reals = npt.NDArray[np.float64]
_PIECES = 20
_BAR_CELLS = 20


@dataclass(frozen=True)
class TracedOccupancy:
    """Theory and measurement side by side; `notes` say what was assumed."""

    occupancy: Occupancy
    measured: MeasuredOccupancy | None
    chip_origin: str
    register_origin: str
    notes: tuple[str, ...]
    is_chip_certain: bool = True

    @property
    def is_lds_known(self) -> bool:
        """Whether anybody says how much LDS a workgroup takes."""
        return self.occupancy.resources.lds_bytes is not None

    @property
    def chip_words(self) -> str:
        """The chip's name, called a guess where it is one."""
        return self.occupancy.chip.name + ("" if self.is_chip_certain else " (a guess)")


def traced_occupancy(
    capture: Capture, stated: StatedResources | None = None
) -> TracedOccupancy | None:
    """The occupancy of a traced kernel; None where nothing tells the chip."""
    stated = stated or StatedResources()
    evidence = chip_evidence(capture, stated.chip)
    if evidence is None:
        return None
    facts = capture.kernel_facts
    texts = capture.instructions.text
    counts = register_counts(evidence.chip, facts, named_registers(texts))
    notes = [counts.note] if counts.note and stated.vgprs is None else []
    if not evidence.is_certain:
        notes.append(f"the chip is a guess ({evidence.origin}): --arch states it")
    workgroup = stated.workgroup_size or _workgroup_size(capture)
    if workgroup is None:
        workgroup = KernelResources.workgroup_size
        notes.append(f"workgroups of {workgroup} are assumed: --workgroup states their size")
    lds_bytes = _lds_bytes(capture, stated)
    if lds_bytes is None:
        notes.append(_why_lds_is_unknown(facts))
    resources = KernelResources(
        vgprs=counts.vgprs if stated.vgprs is None else stated.vgprs,
        agprs=counts.agprs if stated.agprs is None else stated.agprs,
        sgprs=_first(stated.sgprs, facts.sgpr_count if facts else None, named_sgprs(texts)),
        lds_bytes=lds_bytes,
        workgroup_size=workgroup,
        wave_size=stated.wave_size or _wave_size(capture, evidence.chip),
        cu_mode=stated.cu_mode,
    )
    usable = _within(evidence.chip, resources)
    if usable != resources:
        notes.append(f"the stated resources are more than {evidence.chip.name} has and were cut")
    return TracedOccupancy(
        occupancy_of(evidence.chip, usable),
        measured_occupancy(capture.occupancy),
        evidence.origin,
        "as asked" if stated.vgprs is not None else counts.origin,
        tuple(notes),
        evidence.is_certain,
    )


def _lds_bytes(capture: Capture, stated: StatedResources) -> int | None:
    """LDS of a workgroup, None where nobody says.

    A kernel trace counts static LDS only: 0 of a kernel that uses LDS is not what it takes.
    """
    if stated.lds_bytes is not None:
        return max(stated.lds_bytes, 0)
    found = capture.kernel_facts.lds_bytes if capture.kernel_facts else None
    return None if found == 0 and _uses_lds(capture) else found


def _uses_lds(capture: Capture) -> bool:
    return any(_LDS_ACCESS.match(text) for text in capture.instructions.text)


def _why_lds_is_unknown(facts: KernelFacts | None) -> str:
    if facts is None or facts.lds_bytes is None:
        return "LDS is not known: --lds states it, or keep kernel_trace.csv beside the folder"
    return (
        f"LDS is not known: {facts.origin} says 0 bytes, which is static LDS only, and the kernel "
        "accesses LDS: --lds states it"
    )


def traced_occupancy_result(capture: Capture, stated: StatedResources) -> Result:
    """As `occupancy_result`, with what was measured and what was assumed."""
    found = traced_occupancy(capture, stated)
    if found is None:
        raise UsageError("this capture does not say which chip it is from", hint="add --arch CHIP")
    theory = occupancy_result(found.occupancy)
    facts = {
        "path": capture.facts.path,
        "kernel": capture.kernel_name,
        **theory.facts,
        "chip_known_by": found.chip_origin + ("" if found.is_chip_certain else " (a guess)"),
        "registers_known_by": found.register_origin,
        **measured_facts(found),
    }
    findings = [
        *theory.findings,
        *_measured_findings(found),
        *(
            Finding("occupancy-assumption", Severity.INFO, "an assumption was made", note)
            for note in found.notes
        ),
        *capture_findings(capture),
    ]
    return Result(theory.title, theory.tables, findings, facts)


def measured_facts(found: TracedOccupancy) -> dict[str, Value]:
    """Waves per SIMD as they were measured, nothing where they were not."""
    if found.measured is None:
        return {}
    return {
        "measured_peak_waves_per_simd": found.measured.peak,
        "measured_mean_waves_per_simd": found.measured.mean_while_busy,
    }


def _measured_findings(found: TracedOccupancy) -> list[Finding]:
    if found.measured is None:
        return []
    theory, peak = found.occupancy.waves_per_simd, found.measured.peak
    if peak > -(-theory // 1):
        return [
            Finding(
                "occupancy-above-theory",
                Severity.WARNING,
                "more waves ran at once than the stated resources allow",
                f"{peak} waves on one SIMD, {theory:g} by the figures above",
                "the figures are of another kernel or chip: state them with the flags",
            )
        ]
    if found.measured.mean_while_busy < 0.75 * theory:
        return [
            Finding(
                "occupancy-not-reached",
                Severity.INFO,
                "fewer waves run at once than would fit",
                f"{found.measured.mean_while_busy:.2f} waves per busy SIMD on average, "
                f"{peak} at most, {theory:g} would fit",
                "the grid is small, waves end unevenly or workgroups start late"
                + _what_keeps_no_waves_away(found),
            )
        ]
    return []


def _what_keeps_no_waves_away(found: TracedOccupancy) -> str:
    """What files state and allows more waves than there were; what they do not may be the cause."""
    if found.is_lds_known:
        return "; registers and LDS are not what keeps waves away"
    return "; or LDS keeps waves away: how much a workgroup takes is not known"


def _within(chip: Chip, resources: KernelResources) -> KernelResources:
    """Facts of files cut to what the chip has, so that a wrong row is a note and no failure."""
    has_both = chip.accumulators is Accumulators.UNIFIED
    most = chip.addressable_vgprs * (2 if has_both else 1)
    agprs = 0 if chip.accumulators is Accumulators.NONE else resources.agprs
    return replace(
        resources,
        vgprs=min(resources.vgprs, most),
        agprs=min(agprs, chip.addressable_vgprs),
        lds_bytes=None
        if resources.lds_bytes is None
        else min(resources.lds_bytes, chip.lds_limit_bytes),
        workgroup_size=min(resources.workgroup_size, 1024),
    )


def _workgroup_size(capture: Capture) -> int | None:
    size = capture.kernel_facts.workgroup_size if capture.kernel_facts else None
    if size is None:
        return None
    total = max(size[0], 1) * max(size[1], 1) * max(size[2], 1)
    return total if size[0] > 0 else None


def _wave_size(capture: Capture, chip: Chip) -> int:
    sizes = {agent.wave_size for agent in capture.agents if agent.wave_size in chip.registers}
    return sizes.pop() or 0 if len(sizes) == 1 else 0


def _first(*values: int | None) -> int:
    return next((max(value, 0) for value in values if value is not None), 0)


class RegisterCounts(NamedTuple):
    """Vector registers of a lane, and what had to be decided to know them."""

    vgprs: int
    agprs: int
    origin: str
    note: str = ""


def named_registers(texts: Sequence[str]) -> tuple[int, int]:
    """One more than the highest VGPR and AGPR that instructions name; ranges count to their end."""
    text = _without_labels(texts)
    return _register_count(text, "v"), _register_count(text, "a")


def named_sgprs(texts: Sequence[str]) -> int:
    """The same of SGPRs: at least so many does a wave have."""
    return _register_count(_without_labels(texts), "s")


def _without_labels(texts: Sequence[str]) -> str:
    return "\n".join(text for text in texts if not text.startswith(";"))


def register_counts(
    chip: Chip, facts: KernelFacts | None, named: tuple[int, int]
) -> RegisterCounts:
    """The registers that decide occupancy."""
    vgprs, agprs = named
    if facts is None or facts.vgpr_count is None:
        return RegisterCounts(
            vgprs, agprs, "instructions", "only the traced code is known: a lower bound"
        )
    stated, accumulated = facts.vgpr_count, facts.accum_vgpr_count or 0
    if chip.accumulators is not Accumulators.UNIFIED:
        found = max(vgprs, stated), max(agprs, accumulated)
        return RegisterCounts(*found, facts.origin)
    total = _registers_together(vgprs, agprs)
    if chip.name == "gfx950" and not accumulated and stated < total <= 2 * stated:
        return RegisterCounts(
            2 * stated - agprs,
            agprs,
            f"{facts.origin}, doubled",
            f"{facts.origin} says {stated} registers, instructions name {total}: ROCm up to 7.2 "
            "states half of gfx950's",
        )
    if total > stated + accumulated:
        return RegisterCounts(
            vgprs,
            agprs,
            "instructions",
            f"instructions name {total} registers, {facts.origin} says {stated + accumulated}",
        )
    return RegisterCounts(stated, accumulated, facts.origin)


def _registers_together(vgprs: int, agprs: int) -> int:
    return -(-vgprs // 4) * 4 + agprs if agprs else vgprs


def _register_count(text: str, kind: str) -> int:
    numbers = {*_SINGLE[kind].findall(text), *_RANGE_END[kind].findall(text)}
    return max((int(number) + 1 for number in numbers), default=0)


class MeasuredOccupancy(NamedTuple):
    """Waves per SIMD over all compute units of the traced shader engines."""

    peak: int
    mean_while_busy: float
    """Of the SIMDs that have a wave at all, weighted by time."""
    simds: int
    waves: int


def measured_occupancy(occupancy: WaveOccupancy) -> MeasuredOccupancy | None:
    """Peak and mean waves per SIMD; None where nothing was recorded.

    A start without an end lasts to the last event, an end without a start began at the first.
    """
    if not len(occupancy):
        return None
    places = np.stack(
        [occupancy.shader_engine, occupancy.cu, occupancy.simd], axis=1, dtype=np.int64
    )
    _, simd = np.unique(places, axis=0, return_inverse=True)
    simd = simd.reshape(-1)
    step = np.where(occupancy.is_start, 1, -1)
    order = np.lexsort((step, occupancy.time, simd))
    simd, time, step = simd[order], occupancy.time[order], step[order]
    first = np.flatnonzero(np.r_[True, simd[1:] != simd[:-1]])
    running = np.cumsum(step)
    before = np.r_[0, running[first[1:] - 1]]
    own = running - np.repeat(before, np.diff(np.r_[first, len(simd)]))
    lowest = np.minimum.reduceat(own, first)
    own -= np.repeat(np.minimum(lowest, 0), np.diff(np.r_[first, len(simd)]))
    lasts = np.r_[np.diff(time), 0]
    is_last = np.r_[simd[1:] != simd[:-1], True]
    lasts[is_last] = int(occupancy.time.max()) - time[is_last]
    busy = int(lasts[own > 0].sum())
    return MeasuredOccupancy(
        int(own.max()),
        float((own * lasts).sum() / busy) if busy else 0.0,
        len(first),
        int(occupancy.is_start.sum()),
    )


def running_waves(occupancy: WaveOccupancy) -> tuple[Integers, Integers]:
    """Times at which the number of waves changes, and the number from then on."""
    order = np.lexsort((occupancy.is_start, occupancy.time))  # a slot is left before it is taken
    step = np.where(occupancy.is_start[order], 1, -1)
    running = np.cumsum(step)
    running -= min(int(running.min()), 0)
    return occupancy.time[order], running.astype(np.int64)


def occupancy_over_time(occupancy: WaveOccupancy, pieces: int = _PIECES) -> ResultTable | None:
    """The traced time in equal pieces with their mean and peak; None where nothing is recorded."""
    if len(occupancy) < 2:
        return None
    time, running = running_waves(occupancy)
    first, last = int(time[0]), int(time[-1])
    if last <= first:
        return None
    places = np.stack([occupancy.shader_engine, occupancy.cu, occupancy.simd], axis=1)
    simds = len(np.unique(places, axis=0))
    bounds = first + np.array(
        [(last - first) * piece // pieces for piece in range(pieces + 1)], np.int64
    )
    area = _area_until(time, running, bounds)
    means = np.diff(area) / np.maximum(np.diff(bounds), 1)
    most = float(means.max()) or 1.0
    peaks = [_peak(time, running, int(low), int(high)) for low, high in pairwise(bounds.tolist())]
    columns: list[ColumnOf[int]] = [
        ResultColumn("start", "From", Unit.COUNT, "cycles after the first event").of(
            lambda piece: int(bounds[piece]) - first
        ),
        ResultColumn("end", "To", Unit.COUNT).of(lambda piece: int(bounds[piece + 1]) - first),
        ResultColumn("mean_waves", "Waves", Unit.NONE, "mean of all traced shader engines").of(
            lambda piece: float(means[piece])
        ),
        ResultColumn("peak_waves", "Most", Unit.COUNT).of(lambda piece: peaks[piece]),
        ResultColumn(
            "mean_per_simd", "Per SIMD", Unit.NONE, "mean of SIMDs that ever had a wave"
        ).of(lambda piece: float(means[piece]) / simds),
        ResultColumn("bar", "Occupancy", meaning="beside the most of any piece").of(
            lambda piece: _bar(float(means[piece]) / most)
        ),
    ]
    return table_of("occupancy_over_time", "Waves at once over time", columns, range(pieces))


def _bar(share: float) -> str:
    cells = round(_BAR_CELLS * share)
    return "█" * cells + "░" * (_BAR_CELLS - cells)


def _area_until(time: Integers, running: Integers, moments: Integers) -> Reals:
    """Wave cycles from the first event to each moment."""
    lasting = np.diff(time)
    area = np.concatenate([np.zeros(1), np.cumsum(running[:-1].astype(np.float64) * lasting)])
    place = np.maximum(np.searchsorted(time, moments, side="right") - 1, 0)
    return np.asarray(area[place] + running[place] * (moments - time[place]).astype(np.float64))


def _peak(time: Integers, running: Integers, low: int, high: int) -> int:
    first = max(int(np.searchsorted(time, low, side="right")) - 1, 0)
    last = int(np.searchsorted(time, high, side="left"))
    return int(running[first : max(last, first + 1)].max())
