"""What the kernel driver tells of one GPU in its files."""

from __future__ import annotations

from pathlib import Path

from wavescope.collect.machine import Machine, whole_number

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
