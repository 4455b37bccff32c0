"""What the GPUs of this machine are, asked of ROCm's HSA runtime and of the kernel driver."""

from __future__ import annotations

import contextlib
import ctypes
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.machine import Machine, whole_number
from wavescope.errors import MachineError

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
        raise MachineError(
            "there is no AMD GPU here", hint="`wavescope doctor` shows what is missing"
        )
    return agents


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
