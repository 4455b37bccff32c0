"""The one row of sysinfo.csv: what a workload was measured on."""

from __future__ import annotations

import csv
import io
import math
import platform
import re
import shlex
import socket
import time
from dataclasses import dataclass

from wavescope.collect.counters.gpu_agents import DriverFiles, GpuAgent
from wavescope.collect.machine import Machine
from wavescope.model.derived_specs import derived_specs
from wavescope.version import __version__

_MODELS = {
    "MI300A_A1": (29856, 29876),
    "MI300X_A1": (29857, 29877),
    "MI308X": (29858, 29878),
    "MI325X": (29861, 29881),
    "MI350": (30112,),
    "MI355": (30115, 30131),
    "MI358": (30114, 30130),
}
_MODEL_OF_CHIP = {
    "gfx906": "MI50",
    "gfx908": "MI100",
    "gfx90a": "MI200",
    "gfx940": "MI300A_A0",
    "gfx941": "MI300X_A0",
    "gfx942": "MI300X_A1",
    "gfx950": "MI350",
}
"""What a chip is called that its number does not tell."""
_SERIES_OF_CHIP = {
    "gfx906": "MI50",
    "gfx908": "MI100",
    "gfx90a": "MI200",
    "gfx940": "MI300",
    "gfx941": "MI300",
    "gfx942": "MI300",
    "gfx950": "MI350",
}


@dataclass(frozen=True)
class Workload:
    """What is measured, as the row says it."""

    name: str
    command: tuple[str, ...]
    blocks: tuple[str, ...]


def gpu_model(agent: GpuAgent) -> str:
    """The name of the product, such as MI300X_A1."""
    for model, numbers in _MODELS.items():
        if agent.chip_id in numbers:
            return model
    return _MODEL_OF_CHIP.get(agent.chip, agent.chip)


def system_row(workload: Workload, agent: GpuAgent, machine: Machine) -> dict[str, str]:
    """Everything known; what is not known is empty, never a guess."""
    driver = DriverFiles(machine, agent.pci_address)
    bios = (machine.text(f"sys/class/dmi/id/bios_{what}") for what in ("vendor", "version"))
    row = {
        "workload_name": workload.name,
        "command": shlex.join(workload.command),
        "ip_blocks": "|".join(workload.blocks),
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "version": f"wavescope {__version__}",
        "hostname": socket.gethostname(),
        "cpu_model": _after(machine.text("proc/cpuinfo"), "model name"),
        "sbios": "".join(bios),
        "linux_distro": _after(machine.text("etc/os-release"), "PRETTY_NAME").strip('"'),
        "linux_kernel_version": platform.release(),
        "amd_gpu_kernel_version": machine.text("sys/module/amdgpu/version"),
        "cpu_memory": _after(machine.text("proc/meminfo"), "MemTotal").removesuffix(" kB"),
        "gpu_memory": _known(driver.memory_bytes() // 1024),
        "rocm_version": machine.text(f"{machine.rocm_folder}/.info/version"),
        "vbios": driver.text("vbios_version"),
        "compute_partition": driver.text("current_compute_partition"),
        "memory_partition": driver.text("current_memory_partition"),
        "gpu_series": _SERIES_OF_CHIP.get(agent.chip, ""),
        "gpu_model": gpu_model(agent),
        "gpu_arch": agent.chip,
        "gpu_chip_id": str(agent.chip_id),
        "gpu_l1": _known(agent.cache_kib.get(1, 0)),
        "gpu_l2": _known(agent.cache_kib.get(2, 0)),
        "cu_per_gpu": _known(agent.compute_units),
        "simd_per_cu": _known(agent.simds_per_cu),
        "se_per_gpu": _known(agent.shader_engines),
        "wave_size": _known(agent.wave_size),
        "workgroup_max_size": _known(agent.workgroup_max_size),
        "max_waves_per_cu": _known(agent.max_waves_per_cu),
        "max_sclk": _known(agent.max_clock_mhz),
        "max_mclk": _known(agent.memory_clock_mhz),
        "cur_sclk": _known(agent.max_clock_mhz),
        "cur_mclk": _known(agent.memory_clock_mhz),
        "sqc_per_gpu": _known(_scalar_caches(agent)),
    }
    for name, value in derived_specs(row, {}).items():
        row.setdefault(name, f"{value:g}")
    return row


def system_csv(row: dict[str, str]) -> str:
    """The file's text."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(row), lineterminator="\n")
    writer.writeheader()
    writer.writerow(row)
    return out.getvalue()


def _scalar_caches(agent: GpuAgent) -> int:
    """Compute units of a shader engine share a scalar cache by twos, on older chips by threes."""
    if not agent.shader_engines:
        return 0
    sharing = 3 if agent.chip in ("gfx906", "gfx908") else 2
    return math.ceil(agent.compute_units / agent.shader_engines / sharing) * agent.shader_engines


def _known(value: int) -> str:
    return str(value) if value else ""


def _after(text: str, label: str) -> str:
    found = re.search(rf"^{re.escape(label)}\s*[:=]\s*(.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else ""
