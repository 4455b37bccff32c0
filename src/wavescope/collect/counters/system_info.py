"""What a workload is measured on, as the one row of sysinfo.csv says it.

The GPUs are asked of ROCm's HSA runtime and of the kernel driver.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import io
import math
import platform
import re
import shlex
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.machine import Machine, whole_number
from wavescope.errors import MachineError
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
_SERIES_AND_MODEL = {
    "gfx906": ("MI50", "MI50"),
    "gfx908": ("MI100", "MI100"),
    "gfx90a": ("MI200", "MI200"),
    "gfx940": ("MI300", "MI300A_A0"),
    "gfx941": ("MI300", "MI300X_A0"),
    "gfx942": ("MI300", "MI300X_A1"),
    "gfx950": ("MI350", "MI350"),
}
"""What chips are called whose number does not tell more."""


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
    return _SERIES_AND_MODEL.get(agent.chip, ("", agent.chip))[1]


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
        "gpu_series": _SERIES_AND_MODEL.get(agent.chip, ("", ""))[0],
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


_LIBRARIES = ("libhsa-runtime64.so.1", "libhsa-runtime64.so", "/opt/rocm/lib/libhsa-runtime64.so.1")
_GPU = 1
_NAME, _WAVE_SIZE, _WORKGROUP_MAX_SIZE, _DEVICE = 0, 6, 8, 17
_CHIP_ID, _COMPUTE_UNITS, _MAX_CLOCK, _MEMORY_CLOCK = 0xA000, 0xA002, 0xA003, 0xA008
_MAX_WAVES_PER_CU, _SIMDS_PER_CU, _SHADER_ENGINES = 0xA00A, 0xA00B, 0xA00C
_PRODUCT_NAME = 0xA009
_PCI_FUNCTION, _PCI_DOMAIN = 0xA006, 0xA00F
_CACHE_LEVEL, _CACHE_SIZE = 2, 3
_OK = 0


@dataclass(frozen=True)
class GpuAgent:
    """One GPU as the runtime describes it."""

    chip: str
    product: str
    chip_id: int
    compute_units: int
    simds_per_cu: int
    shader_engines: int
    max_waves_per_cu: int
    wave_size: int
    workgroup_max_size: int
    max_clock_mhz: int
    memory_clock_mhz: int
    cache_kib: dict[int, int]
    """Size of the caches by level."""
    pci_address: str = ""
    """As the kernel spells it, 0000:c1:00.0; nothing where the runtime does not tell."""


def gpu_agents() -> list[GpuAgent]:
    """All GPUs in the runtime's order; MachineError where there is no runtime or no GPU."""
    runtime = _runtime()
    if runtime.hsa_init():
        raise MachineError(
            "ROCm's runtime finds no GPU here", hint="`wavescope doctor` shows what is missing"
        )
    try:
        found = [agent for agent in _agents(runtime) if _value(runtime, agent, _DEVICE) == _GPU]
        agents = [_described(runtime, agent) for agent in found]
    finally:
        runtime.hsa_shut_down()
    if not agents:
        raise MachineError("there is no AMD GPU here", hint="`wavescope doctor` tells more")
    return agents


def gpu_here(device: int) -> GpuAgent:
    """The GPU of this number."""
    agents = gpu_agents()
    if device >= len(agents):
        raise MachineError(f"there is no GPU {device}: there are {len(agents)}")
    return agents[device]


def _runtime() -> ctypes.CDLL:
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    raise MachineError(
        "ROCm's runtime is not installed (libhsa-runtime64.so.1)",
        hint="install ROCm, or name the chip: --arch gfx942",
    )


def _agents(runtime: ctypes.CDLL) -> list[ctypes.c_uint64]:
    found: list[ctypes.c_uint64] = []

    def take(agent: int, _: object) -> int:
        found.append(ctypes.c_uint64(agent))
        return _OK

    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)(take)
    runtime.hsa_iterate_agents(callback, None)
    return found


def _described(runtime: ctypes.CDLL, agent: ctypes.c_uint64) -> GpuAgent:
    return GpuAgent(
        chip=_text(runtime, agent, _NAME),
        product=_text(runtime, agent, _PRODUCT_NAME),
        chip_id=_value(runtime, agent, _CHIP_ID),
        compute_units=_value(runtime, agent, _COMPUTE_UNITS),
        simds_per_cu=_value(runtime, agent, _SIMDS_PER_CU),
        shader_engines=_value(runtime, agent, _SHADER_ENGINES),
        max_waves_per_cu=_value(runtime, agent, _MAX_WAVES_PER_CU),
        wave_size=_value(runtime, agent, _WAVE_SIZE),
        workgroup_max_size=_value(runtime, agent, _WORKGROUP_MAX_SIZE),
        max_clock_mhz=_value(runtime, agent, _MAX_CLOCK),
        memory_clock_mhz=_value(runtime, agent, _MEMORY_CLOCK),
        cache_kib=_caches(runtime, agent),
        pci_address=pci_address(
            _value(runtime, agent, _PCI_DOMAIN), _value(runtime, agent, _PCI_FUNCTION)
        ),
    )


def _value(runtime: ctypes.CDLL, agent: ctypes.c_uint64, attribute: int) -> int:
    """A number of the agent, 0 where the runtime does not know it."""
    value = ctypes.c_uint64(0)  # attributes have 32 or fewer bits, and this machine's bytes order
    runtime.hsa_agent_get_info(agent, attribute, ctypes.byref(value))
    return int(value.value & 0xFFFFFFFF)


def _text(runtime: ctypes.CDLL, agent: ctypes.c_uint64, attribute: int) -> str:
    text = ctypes.create_string_buffer(64)
    runtime.hsa_agent_get_info(agent, attribute, text)
    return text.value.decode(errors="replace").strip()


def _caches(runtime: ctypes.CDLL, agent: ctypes.c_uint64) -> dict[int, int]:
    sizes: dict[int, int] = {}

    def take(cache: int, _: object) -> int:
        level, size = ctypes.c_uint8(0), ctypes.c_uint32(0)
        handle = ctypes.c_uint64(cache)
        runtime.hsa_cache_get_info(handle, _CACHE_LEVEL, ctypes.byref(level))
        runtime.hsa_cache_get_info(handle, _CACHE_SIZE, ctypes.byref(size))
        sizes.setdefault(level.value, _as_kib(level.value, size.value))
        return _OK

    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)(take)
    runtime.hsa_agent_iterate_caches(agent, callback, None)
    return sizes


def _as_kib(level: int, size: int) -> int:
    """The size in KiB: some versions of the runtime give that, others bytes."""
    smallest_bytes = 1 << 10 if level == 1 else 1 << 17
    return size if size < smallest_bytes else size // 1024


_DEVICES = "sys/bus/pci/devices"
_SPLITTABLE = "sys/class/drm/card*/device/current_compute_partition"
_NODES = "sys/class/kfd/kfd/topology/nodes"


class DriverFiles:
    """The files of the GPU at a PCI address.

    Where the address is not known they are those of the first GPU that can be split into
    partitions: the first card may be a mere display's.
    """

    def __init__(self, machine: Machine, pci_address: str) -> None:
        self._machine = machine
        own = machine.root / _DEVICES / pci_address
        self._folder = own if pci_address and own.is_dir() else _first_splittable(machine.root)

    def text(self, name: str) -> str:
        """What the file of this name says, nothing where there is none."""
        if self._folder is None:
            return ""
        return self._machine.text(str((self._folder / name).relative_to(self._machine.root)))

    def memory_bytes(self) -> int:
        """The memory of the GPU, 0 where the driver does not tell."""
        return whole_number(self.text("mem_info_vram_total")) or self._bank_bytes()

    def _bank_bytes(self) -> int:
        """Memory in the driver's topology, which also has that of GPUs that share the CPU's."""
        if self._folder is None:
            return 0
        address = self._folder.resolve().name
        for node in (self._machine.root / _NODES).glob("*"):
            if _address(self._machine.properties(node)) == address:
                banks = [self._machine.properties(bank) for bank in node.glob("mem_banks/*")]
                return sum(whole_number(bank.get("size_in_bytes", "")) for bank in banks)
        return 0


def _first_splittable(root: Path) -> Path | None:
    paths = [path.parent for path in root.glob(_SPLITTABLE)]
    cards = sorted(paths, key=lambda path: (len(path.parts[-2]), path.parts[-2]))
    return cards[0] if cards else None


def _address(node: dict[str, str]) -> str:
    function, domain = (
        whole_number(node.get("location_id", "")),
        whole_number(node.get("domain", "")),
    )
    return pci_address(domain, function)


def pci_address(domain: int, function: int) -> str:
    """The kernel's spelling of a function, numbered as bus, 5 bits of device, 3 of function."""
    if not function:
        return ""
    bus, device = function >> 8 & 0xFF, function >> 3 & 0x1F
    return f"{domain:04x}:{bus:02x}:{device:02x}.{function & 7}"
