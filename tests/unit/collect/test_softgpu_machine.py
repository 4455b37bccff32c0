"""The files of a machine of software GPUs: what they tell, and where they are written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wavescope.collect.softgpu import CHIPS, SoftGpuOptions
from wavescope.collect.softgpu.environment import written_tree
from wavescope.collect.softgpu.settings import HostFacts, chips, machine_settings
from wavescope.collect.softgpu.topology import Tree, machine_files
from wavescope.errors import MachineError, UsageError

HOST = HostFacts(core_count=4, first_apicid=2, memory_bytes=8 << 30)
NODES = "sys/devices/virtual/kfd/kfd/topology/nodes"
A_TREE = Tree({"dev/kfd": "", "sys/a/b": "1\n"}, {"sys/link": "../sys/a"})


def files(specification: str) -> Tree:
    return machine_files(machine_settings(SoftGpuOptions.parse(specification), HOST))


def properties(tree: Tree, folder: str) -> dict[str, int]:
    lines = tree.files[f"{NODES}/{folder}/properties"].splitlines()
    return {name: int(value) for name, value in (line.split(" ") for line in lines)}


def node_count(tree: Tree) -> int:
    return sum(path.endswith("/gpu_id") for path in tree.files)


def test_every_chip_has_its_facts() -> None:
    assert tuple(chips()) == CHIPS


def test_one_gfx90a() -> None:
    tree = files("gfx90a")

    gpu = properties(tree, "1")
    expected = {
        "simd_count": 416,
        "array_count": 8,
        "cu_per_simd_array": 14,
        "simd_per_cu": 4,
        "gfx_target_version": 90010,
        "device_id": 0x740F,
        "location_id": 0x2100,
        "drm_render_minor": 128,
        "num_xcc": 1,
        "num_gws": 64,
        "num_sdma_xgmi_engines": 3,
        "hive_id": 0,
        "max_engine_clk_fcompute": 1700,
        "caches_count": 3,
        "io_links_count": 1,
        "capability": 0x2C40A280,
    }
    assert {name: gpu[name] for name in expected} == expected
    assert tree.files[f"{NODES}/1/gpu_id"] == "20481\n"
    assert properties(tree, "1/mem_banks/0")["size_in_bytes"] == 64 << 30
    assert properties(tree, "1/mem_banks/0")["heap_type"] == 1
    assert properties(tree, "1/caches/2")["size"] == 8192
    cpu = properties(tree, "0")
    assert (cpu["cpu_cores_count"], cpu["cpu_core_id_base"], cpu["io_links_count"]) == (4, 2, 1)
    assert properties(tree, "0/mem_banks/0")["size_in_bytes"] == 8 << 30
    assert "740F,\t02,\tSoftware gfx90a\n" in tree.files["usr/share/libdrm/amdgpu.ids"]


def test_eight_gfx942_are_one_hive() -> None:
    tree = files("gfx942,gpus=8")

    gpus = [properties(tree, str(node)) for node in range(1, 9)]
    assert node_count(tree) == 9
    assert {(gpu["simd_count"], gpu["num_xcc"], gpu["array_count"]) for gpu in gpus} == {
        (1216, 8, 32)
    }
    assert len({gpu["hive_id"] for gpu in gpus}) == 1
    assert gpus[0]["hive_id"] != 0
    for name in ("unique_id", "location_id", "drm_render_minor"):
        assert len({gpu[name] for gpu in gpus}) == 8
    links = [properties(tree, f"3/io_links/{index}") for index in range(8)]
    assert [link["node_to"] for link in links] == [0, 1, 2, 4, 5, 6, 7, 8]
    assert [link["type"] for link in links] == [2, *[11] * 7]
    assert properties(tree, "8/mem_banks/0")["size_in_bytes"] == 192 << 30
    assert len(tree.files) < 300


def test_a_divided_gfx942_is_eight_devices() -> None:
    tree = files("gfx942,gpus=2,partition=cpx")

    gpus = [properties(tree, str(node)) for node in range(1, 17)]
    assert node_count(tree) == 17
    assert {(gpu["simd_count"] // 4, gpu["num_xcc"], gpu["array_count"]) for gpu in gpus} == {
        (38, 1, 4)
    }
    assert properties(tree, "1/mem_banks/0")["size_in_bytes"] == 24 << 30
    assert (gpus[0]["num_sdma_engines"], gpus[0]["num_sdma_xgmi_engines"]) == (2, 0)
    assert [gpu["location_id"] for gpu in gpus[6:10]] == [0x2106, 0x2107, 0x2200, 0x2201]
    assert len({gpu["unique_id"] for gpu in gpus}) == 16


def test_every_device_has_a_card_of_its_own() -> None:
    tree = files("gfx942,gpus=1,partition=cpx")

    for device in range(8):
        pci = f"sys/devices/pci0000:00/0000:21:00.{device}"
        assert tree.files[f"{pci}/drm/card{device}/dev"] == f"226:{device}\n"
        assert tree.files[f"{pci}/drm/renderD{128 + device}/dev"] == f"226:{128 + device}\n"
        assert tree.links[f"sys/dev/char/226:{128 + device}"].endswith(
            f"{pci}/drm/renderD{128 + device}"
        )


def test_the_host_has_no_link_to_memory_that_it_does_not_see() -> None:
    tree = files("gfx90a,large_bar=0,memory_mib=128")

    assert properties(tree, "0")["io_links_count"] == 0
    assert properties(tree, "1")["io_links_count"] == 1
    assert properties(tree, "1/mem_banks/0")["heap_type"] == 2
    assert properties(tree, "1/mem_banks/0")["size_in_bytes"] == 128 << 20


def test_gpus_of_other_families_are_no_hive() -> None:
    tree = files("gfx1100,gpus=2")

    gpu = properties(tree, "1")
    assert (gpu["wave_front_size"], gpu["simd_per_cu"], gpu["simd_count"]) == (32, 2, 192)
    assert gpu["hive_id"] == 0
    assert properties(tree, "1/io_links/1")["type"] == 2


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("gfx90a,partition=cpx", "gfx90a cannot be divided"),
        ("gfx942,gpus=3,partition=cpx", "3 GPUs of 8 devices each"),
    ],
)
def test_machines_that_there_are_not(specification: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        files(specification)


def test_a_tree_is_written_once(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}

    folder = written_tree(A_TREE, environment)
    written_ns = (folder / "dev/kfd").stat().st_mtime_ns

    assert folder.parent == tmp_path / "wavescope/softgpu/machines"
    assert (folder / "sys/a/b").read_text() == "1\n"
    assert (folder / "sys/link/b").read_text() == "1\n"
    assert written_tree(A_TREE, environment) == folder
    assert (folder / "dev/kfd").stat().st_mtime_ns == written_ns
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert written_tree(Tree({"dev/kfd": "x"}), environment) != folder


def test_without_a_cache_a_private_folder_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    for environment in ({"XDG_CACHE_HOME": str(blocked)}, {}):
        folder = written_tree(A_TREE, environment)
        assert folder.parent == tmp_path / f"wavescope-softgpu-{os.geteuid()}"
        assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_files_that_others_could_have_written_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = written_tree(A_TREE, environment)
    folder.parent.chmod(0o777)

    other = written_tree(A_TREE, environment)
    assert other.parent == tmp_path / f"wavescope-softgpu-{os.geteuid()}"

    other.parent.chmod(0o770)
    with pytest.raises(MachineError, match="no folder to write"):
        written_tree(A_TREE, environment)


def test_a_folder_of_that_name_that_is_not_ours_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = written_tree(A_TREE, environment)
    (folder / "wavescope-machine").write_text("something else")

    assert written_tree(A_TREE, environment) != folder
