"""What a machine shows of itself in `/sys` and `/dev`: paths and contents, not yet written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wavescope.collect.softgpu.settings import MachineSettings

_TOPOLOGY = "sys/devices/virtual/kfd/kfd/topology"
_FIRST_GPU_ID = 0x5001
_FIRST_RENDER_MINOR = 128
_FIRST_BUS = 0x21
_VENDOR = 0x1002
_HIVE_ID = 0x50F76B0123456789
_FIRST_UNIQUE_ID = 0x5057000000000001
_PCI_REVISION = 2

_DATA, _INSTRUCTION, _OF_GPU = 1, 2, 8
_PCIE, _XGMI = 2, 11
_HOST_HEAP, _VISIBLE_HEAP, _HIDDEN_HEAP = 0, 1, 2

# Watch points (4), 64 bit doorbells, debug trap, revision 1, SVM, firmware for debugging.
_CAPABILITY = 1 << 7 | 2 << 8 | 2 << 12 | 1 << 15 | 1 << 22 | 1 << 27 | 1 << 29
_ERROR_CORRECTION = 1 << 26


@dataclass
class Tree:
    """Files by their path below the root, and links by theirs."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def add_properties(self, folder: str, **values: int) -> None:
        """A file of names and numbers, as the driver writes them."""
        lines = (f"{name} {value}\n" for name, value in values.items())
        self.files[f"{folder}/properties"] = "".join(lines)

    def add_link(self, path: str, target: str) -> None:
        """A relative link, so that the tree may lie anywhere."""
        self.links[path] = "../" * path.count("/") + target


def machine_files(settings: MachineSettings) -> Tree:
    """All files of a machine."""
    tree = Tree()
    tree.files[f"{_TOPOLOGY}/generation_id"] = "2\n"
    tree.files[f"{_TOPOLOGY}/system_properties"] = "platform_oem 0\nplatform_id 0\nplatform_rev 0\n"
    tree.files["sys/module/amdgpu/initstate"] = "live\n"
    tree.files["sys/module/amdgpu/version"] = "6.10.5\n"
    tree.files["dev/kfd"] = ""
    tree.add_link("sys/class/kfd/kfd", "sys/devices/virtual/kfd/kfd")
    name = f"{settings.chip.device_id:04X},\t{_PCI_REVISION:02X},\tSoftware {settings.chip_name}"
    tree.files["usr/share/libdrm/amdgpu.ids"] = f"1.0.0\n{name}\n"
    _add_cpu(tree, settings)
    for device in range(settings.device_count):
        _add_gpu(tree, settings, device)
        _add_render_node(tree, settings, device)
    return tree


def _add_cpu(tree: Tree, settings: MachineSettings) -> None:
    node = f"{_TOPOLOGY}/nodes/0"
    host = settings.host
    links = list(_links(settings, 0))
    tree.files[f"{node}/gpu_id"] = "0\n"
    tree.files[f"{node}/name"] = "\n"
    tree.add_properties(
        node,
        cpu_cores_count=host.core_count,
        simd_count=0,
        mem_banks_count=1,
        caches_count=0,
        io_links_count=len(links),
        p2p_links_count=0,
        cpu_core_id_base=host.first_apicid,
        max_engine_clk_ccompute=2000,
    )
    tree.add_properties(
        f"{node}/mem_banks/0",
        heap_type=_HOST_HEAP,
        size_in_bytes=host.memory_bytes,
        flags=0,
        width=64,
        mem_clk_max=3200,
    )
    _add_links(tree, node, links)


def _add_gpu(tree: Tree, settings: MachineSettings, device: int) -> None:
    chip = settings.chip
    node = f"{_TOPOLOGY}/nodes/{device + 1}"
    links = list(_links(settings, device + 1))
    caches = list(_caches(settings))
    first_simd = 0x80001000 + 0x1000 * (device + 1)
    tree.files[f"{node}/gpu_id"] = f"{_FIRST_GPU_ID + device}\n"
    tree.files[f"{node}/name"] = f"{chip.driver_name}\n"
    tree.add_properties(
        node,
        cpu_cores_count=0,
        simd_count=chip.compute_units * chip.simds_per_unit,
        mem_banks_count=1,
        caches_count=len(caches),
        io_links_count=len(links),
        p2p_links_count=0,
        cpu_core_id_base=0,
        simd_id_base=first_simd,
        max_waves_per_simd=chip.waves_per_simd,
        lds_size_in_kb=chip.lds_kib,
        gds_size_in_kb=0,
        num_gws=64,
        wave_front_size=chip.wavefront_size,
        array_count=chip.shader_arrays,
        simd_arrays_per_engine=chip.arrays_per_engine,
        cu_per_simd_array=chip.units_per_array,
        simd_per_cu=chip.simds_per_unit,
        max_slots_scratch_cu=32,
        gfx_target_version=chip.target_version,
        vendor_id=_VENDOR,
        device_id=chip.device_id,
        location_id=_location(settings, device),
        domain=0,
        drm_render_minor=_FIRST_RENDER_MINOR + device,
        hive_id=_HIVE_ID if _has_hive(settings) else 0,
        num_sdma_engines=chip.sdma_engines,
        num_sdma_xgmi_engines=chip.xgmi_sdma_engines,
        num_sdma_queues_per_engine=8,
        num_cp_queues=24,
        num_xcc=chip.xccs,
        max_engine_clk_fcompute=chip.engine_mhz,
        max_engine_clk_ccompute=2000,
        local_mem_size=0,
        fw_version=78,
        capability=_CAPABILITY | (_ERROR_CORRECTION if chip.has_error_correction else 0),
        debug_prop=1511,
        sdma_fw_version=8,
        unique_id=_FIRST_UNIQUE_ID + device,
    )
    tree.add_properties(
        f"{node}/mem_banks/0",
        heap_type=_VISIBLE_HEAP if settings.has_large_bar else _HIDDEN_HEAP,
        size_in_bytes=settings.device_memory_bytes,
        flags=0,
        width=chip.memory_bits,
        mem_clk_max=chip.memory_mhz,
    )
    for index, (level, kib, kind) in enumerate(caches):
        tree.add_properties(
            f"{node}/caches/{index}",
            processor_id_low=first_simd,
            level=level,
            size=kib,
            cache_line_size=128,
            cache_lines_per_tag=1,
            association=0,
            latency=0,
            type=kind | _OF_GPU,
            sibling_map=1,
        )
    _add_links(tree, node, links)


def _caches(settings: MachineSettings) -> Iterator[tuple[int, int, int]]:
    """Level, KiB and kind of one cache of each sort: runtimes ask for sizes, not for all copies."""
    yield 1, 16, _DATA
    yield 1, 64, _INSTRUCTION
    yield 2, settings.chip.l2_kib, _DATA
    if settings.chip.l3_mib:
        yield 3, settings.chip.l3_mib << 10, _DATA


def _has_hive(settings: MachineSettings) -> bool:
    return settings.chip.has_xgmi and settings.device_count > 1


def _links(settings: MachineSettings, node: int) -> Iterator[dict[str, int]]:
    """The links of a node to all others.

    A link from the CPU to a GPU is what tells runtimes that the host sees that GPU's memory.
    """
    if node == 0 and not settings.has_large_bar:
        return
    for other in range(settings.device_count + 1):
        if other == node:
            continue
        is_fast = node != 0 and other != 0 and _has_hive(settings)
        yield {
            "type": _XGMI if is_fast else _PCIE,
            "version_major": 0,
            "version_minor": 0,
            "node_from": node,
            "node_to": other,
            "weight": 15 if is_fast else 20,
            "min_latency": 0,
            "max_latency": 0,
            "min_bandwidth": 50000 if is_fast else 312,
            "max_bandwidth": 50000 if is_fast else 32000,
            "recommended_transfer_size": 0,
            "recommended_sdma_engine_id_mask": 0,
            "flags": 1,
        }


def _add_links(tree: Tree, node: str, links: list[dict[str, int]]) -> None:
    for index, link in enumerate(links):
        tree.add_properties(f"{node}/io_links/{index}", **link)


def _location(settings: MachineSettings, device: int) -> int:
    """Bus and function: a GPU has a bus, a part of it a function."""
    gpu, part = divmod(device, settings.devices_per_gpu)
    return (_FIRST_BUS + gpu) << 8 | part


def _add_render_node(tree: Tree, settings: MachineSettings, device: int) -> None:
    """The device as libdrm looks for it; it tells devices apart by the name of their `card`."""
    location = _location(settings, device)
    slot = f"0000:{location >> 8:02x}:00.{location & 7}"
    minor = _FIRST_RENDER_MINOR + device
    chip_id = settings.chip.device_id
    pci = f"sys/devices/pci0000:00/{slot}"
    render = f"{pci}/drm/renderD{minor}"
    tree.files |= {
        f"dev/dri/renderD{minor}": "",
        f"dev/dri/card{device}": "",
        f"{pci}/vendor": f"0x{_VENDOR:04x}\n",
        f"{pci}/device": f"0x{chip_id:04x}\n",
        f"{pci}/subsystem_vendor": f"0x{_VENDOR:04x}\n",
        f"{pci}/subsystem_device": "0x0c34\n",
        f"{pci}/revision": f"0x{_PCI_REVISION:02x}\n",
        f"{pci}/class": "0x038000\n",
        f"{pci}/uevent": f"DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID={_VENDOR:04X}:{chip_id:04X}\n"
        f"PCI_SUBSYS_ID={_VENDOR:04X}:0C34\nPCI_SLOT_NAME={slot}\n",
        f"{pci}/drm/card{device}/dev": f"226:{device}\n",
        f"{render}/dev": f"226:{minor}\n",
        f"{render}/uevent": f"MAJOR=226\nMINOR={minor}\nDEVNAME=dri/renderD{minor}\n"
        "DEVTYPE=drm_minor\n",
        "sys/bus/pci/drivers_autoprobe": "1\n",
    }
    tree.add_link(f"{render}/device", pci)
    tree.add_link(f"sys/dev/char/226:{minor}", render)
    tree.add_link(f"sys/class/drm/renderD{minor}", render)
    tree.add_link(f"{pci}/subsystem", "sys/bus/pci")
    tree.add_link(f"sys/bus/pci/devices/{slot}", pci)
