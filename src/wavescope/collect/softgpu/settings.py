"""The machine that software GPUs are in: which chip, how many, how divided.

The chips that the software GPU can play are told by `chips.toml`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from wavescope.collect.softgpu.options import MAXIMUM_GPUS, SoftGpuOptions
from wavescope.errors import UsageError
from wavescope.package_files import packaged_toml

_DEFAULT_CHIP = "gfx90a"
_MIB = 1 << 20


@dataclass(frozen=True)
class Chip:
    """What the kernel driver tells of a whole GPU."""

    driver_name: str
    target_version: int
    device_id: int
    compute_units: int
    xccs: int
    shader_arrays: int
    arrays_per_engine: int
    units_per_array: int
    simds_per_unit: int
    waves_per_simd: int
    wavefront_size: int
    engine_mhz: int
    memory_mhz: int
    memory_bits: int
    memory_gib: int
    lds_kib: int
    l2_kib: int
    l3_mib: int
    sdma_engines: int
    xgmi_sdma_engines: int
    has_error_correction: bool
    has_xgmi: bool


@lru_cache(maxsize=1)
def chips() -> dict[str, Chip]:
    """All chips by name."""
    sections = packaged_toml("collect", "softgpu", "chips.toml")
    base = sections.pop("base")
    return {name: Chip(**{**base, **section}) for name, section in sections.items()}


@dataclass(frozen=True)
class HostFacts:
    """What the machine's CPU node tells."""

    core_count: int
    first_apicid: int
    memory_bytes: int

    @classmethod
    def of_this_machine(cls) -> HostFacts:
        """The host that programs run on."""
        try:
            listing = Path("/proc/cpuinfo").read_text(errors="replace")
        except OSError:
            listing = ""
        apicid = re.search(r"^apicid\s*:\s*(\d+)$", listing, re.MULTILINE)
        page_bytes, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        return cls(os.cpu_count() or 1, int(apicid[1]) if apicid else 0, page_bytes * pages)


@dataclass(frozen=True)
class MachineSettings:
    """Everything that the files of a machine tell."""

    chip_name: str
    chip: Chip
    """What one device is like: a GPU, or the part of one that is shown as a device."""
    gpu_count: int
    devices_per_gpu: int
    device_memory_bytes: int
    has_large_bar: bool
    host: HostFacts

    @property
    def device_count(self) -> int:
        return self.gpu_count * self.devices_per_gpu


def machine_settings(options: SoftGpuOptions, host: HostFacts) -> MachineSettings:
    """The machine that `options` describe, with defaults for what they leave out."""
    name = options.chip or _DEFAULT_CHIP
    chip = chips()[name]
    devices_per_gpu = chip.xccs if options.partition == "cpx" else 1
    gpu_count = options.gpus or 1
    if options.partition == "cpx" and chip.xccs == 1:
        raise UsageError(
            f"{name} cannot be divided: it has one compute die",
            hint="partition=cpx needs gfx942 or gfx950",
        )
    if gpu_count * devices_per_gpu > MAXIMUM_GPUS:
        raise UsageError(
            f"{gpu_count} GPUs of {devices_per_gpu} devices each are too many",
            hint=f"at most {MAXIMUM_GPUS} devices in all",
        )
    memory_mib = options.memory_mib or chip.memory_gib << 10
    return MachineSettings(
        chip_name=name,
        chip=_part_of(chip) if devices_per_gpu > 1 else chip,
        gpu_count=gpu_count,
        devices_per_gpu=devices_per_gpu,
        device_memory_bytes=memory_mib * _MIB // devices_per_gpu,
        has_large_bar=options.large_bar != 0,
        host=host,
    )


def _part_of(chip: Chip) -> Chip:
    """One compute die of a chip, as a device of its own."""
    engines = (chip.sdma_engines + chip.xgmi_sdma_engines) // chip.xccs
    return replace(
        chip,
        compute_units=chip.compute_units // chip.xccs,
        shader_arrays=chip.shader_arrays // chip.xccs,
        sdma_engines=engines,
        xgmi_sdma_engines=0,
        xccs=1,
    )
