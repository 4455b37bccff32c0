"""The occupancy of a traced kernel: what fits by its facts, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wavescope.analyze.capture.capture_findings import capture_findings
from wavescope.analyze.occupancy.chip_evidence import chip_of
from wavescope.analyze.occupancy.limits import Occupancy, occupancy_of
from wavescope.analyze.occupancy.measured import MeasuredOccupancy, measured_occupancy
from wavescope.analyze.occupancy.report import occupancy_result
from wavescope.analyze.occupancy.resources import KernelResources
from wavescope.analyze.occupancy.used_registers import named_registers, register_counts
from wavescope.errors import UsageError
from wavescope.model.capture import ThreadTrace
from wavescope.model.chips.chip import Chip
from wavescope.model.result import Finding, Result, Severity

_ASSUMED_WORKGROUP = 256


@dataclass(frozen=True)
class StatedResources:
    """What the user says himself; None leaves it to the files of the capture."""

    chip: Chip | None = None
    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    lds_bytes: int | None = None
    workgroup_size: int | None = None
    wave_size: int = 0
    cu_mode: bool = False


@dataclass(frozen=True)
class TracedOccupancy:
    """Theory and measurement side by side; `notes` say what was assumed."""

    occupancy: Occupancy
    measured: MeasuredOccupancy | None
    chip_origin: str
    register_origin: str
    notes: tuple[str, ...]


def traced_occupancy(
    trace: ThreadTrace, stated: StatedResources | None = None
) -> TracedOccupancy | None:
    """The occupancy of a traced kernel; None where nothing tells the chip."""
    stated = stated or StatedResources()
    evidence = chip_of(trace, stated.chip)
    if evidence is None:
        return None
    facts = trace.kernel_facts
    counts = register_counts(evidence.chip, facts, named_registers(trace.instructions.text))
    notes = [counts.note] if counts.note and stated.vgprs is None else []
    if not evidence.is_certain:
        notes.append(f"the chip is a guess ({evidence.origin}): --arch states it")
    workgroup = stated.workgroup_size or _workgroup_size(trace)
    if workgroup is None:
        workgroup = _ASSUMED_WORKGROUP
        notes.append(f"workgroups of {workgroup} are assumed: --workgroup states their size")
    if facts is None and stated.lds_bytes is None:
        notes.append(
            "LDS is not known: --lds states it, or keep kernel_trace.csv beside the folder"
        )
    resources = KernelResources(
        vgprs=counts.vgprs if stated.vgprs is None else stated.vgprs,
        agprs=counts.agprs if stated.agprs is None else stated.agprs,
        sgprs=_first(stated.sgprs, facts.sgpr_count if facts else None),
        lds_bytes=_first(stated.lds_bytes, facts.lds_bytes if facts else None),
        workgroup_size=workgroup,
        wave_size=stated.wave_size or _wave_size(trace, evidence.chip),
        cu_mode=stated.cu_mode,
    )
    return TracedOccupancy(
        occupancy_of(evidence.chip, _within(evidence.chip, resources, notes)),
        measured_occupancy(trace.occupancy),
        evidence.origin,
        "as asked" if stated.vgprs is not None else counts.origin,
        tuple(notes),
    )


def stated_occupancy_result(stated: StatedResources) -> Result:
    """The occupancy of a kernel of which only the figures are known."""
    if stated.chip is None or stated.vgprs is None:
        raise UsageError(
            "which kernel?",
            hint="name a capture, or give a chip and its VGPRs at least: --arch gfx942 --vgpr 128",
        )
    resources = KernelResources(
        stated.vgprs,
        stated.agprs or 0,
        stated.sgprs or 0,
        stated.lds_bytes or 0,
        _ASSUMED_WORKGROUP if stated.workgroup_size is None else stated.workgroup_size,
        stated.wave_size,
        stated.cu_mode,
    )
    return occupancy_result(occupancy_of(stated.chip, resources))


def traced_occupancy_result(trace: ThreadTrace, stated: StatedResources) -> Result:
    """As `occupancy_result`, with what was measured and what was assumed."""
    found = traced_occupancy(trace, stated)
    if found is None:
        raise UsageError(
            "nothing in this capture tells which chip it is from", hint="name it with --arch"
        )
    result = occupancy_result(found.occupancy)
    result.facts = {
        "path": trace.capture.path,
        "kernel": trace.kernel_name,
        **result.facts,
        "chip_known_by": found.chip_origin,
        "registers_known_by": found.register_origin,
    }
    if found.measured is not None:
        result.facts["measured_peak_waves_per_simd"] = found.measured.peak
        result.facts["measured_mean_waves_per_simd"] = found.measured.mean_while_busy
        result.findings += _measured_findings(found)
    result.findings += [
        Finding("occupancy-assumption", Severity.INFO, "an assumption was made", note)
        for note in found.notes
    ]
    result.findings += capture_findings(trace)
    return result


def _measured_findings(found: TracedOccupancy) -> list[Finding]:
    assert found.measured is not None
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
                "the grid is small, waves end unevenly or workgroups start late; registers and LDS "
                "are not what keeps waves away",
            )
        ]
    return []


def _within(chip: Chip, resources: KernelResources, notes: list[str]) -> KernelResources:
    """Facts of files cut to what the chip has, so that a wrong row is a note and no failure."""
    most = chip.addressable_vgprs * (2 if chip.accumulators.value == "unified" else 1)
    agprs = resources.agprs if chip.accumulators.value != "none" else 0
    cut = replace(
        resources,
        vgprs=min(resources.vgprs, most),
        agprs=min(agprs, chip.addressable_vgprs),
        lds_bytes=min(resources.lds_bytes, chip.lds_limit_bytes),
        workgroup_size=min(resources.workgroup_size, 1024),
    )
    if cut != resources:
        notes.append(f"the stated resources are more than {chip.name} has and were cut")
    return cut


def _workgroup_size(trace: ThreadTrace) -> int | None:
    size = trace.kernel_facts.workgroup_size if trace.kernel_facts else None
    if size is None:
        return None
    total = max(size[0], 1) * max(size[1], 1) * max(size[2], 1)
    return total if size[0] > 0 else None


def _wave_size(trace: ThreadTrace, chip: Chip) -> int:
    sizes = {agent.wave_size for agent in trace.agents if agent.wave_size in chip.registers}
    return sizes.pop() or 0 if len(sizes) == 1 else 0


def _first(*values: int | None) -> int:
    return next((max(value, 0) for value in values if value is not None), 0)
