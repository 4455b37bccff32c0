"""Which board a GPU is, and what its published peaks are."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.model.chips.board_table import boards, find_board

GIB = 1 << 30
PAGE = Path(__file__).parents[3] / "docs" / "work-model.md"


@pytest.mark.parametrize(
    ("model", "units", "memory_gib", "name"),
    [
        ("AMD Instinct MI300X VF", 304, 191.5, "MI300X"),
        ("AMD Instinct MI325X", 304, 256, "MI325X"),
        ("AMD Instinct MI210", 104, 64, "MI210"),
        ("AMD Instinct MI250X / MI250", 110, 64, "MI250X (one GCD)"),
        ("NVIDIA H100 80GB HBM3", 132, 79.1, "H100 SXM"),
        ("NVIDIA H100 PCIe", 114, 79.2, "H100 PCIe"),
        ("NVIDIA H100 NVL", 132, 93.1, "H100 NVL"),
        ("NVIDIA H200", 132, 139.8, "H200 SXM"),
        ("NVIDIA A100-SXM4-80GB", 108, 79.2, "A100 SXM 80GB"),
        ("NVIDIA A100 80GB PCIe", 108, 79.2, "A100 80GB PCIe"),
        ("NVIDIA A100-PG509-200", 108, 39.6, "A100 40GB"),
        ("NVIDIA B200", 148, 178.4, "B200"),
        ("NVIDIA GB200", 152, 184.0, "GB200"),
        ("NVIDIA L4", 58, 22.0, "L4"),
        ("NVIDIA L40S", 142, 44.4, "L40S"),
        ("NVIDIA GeForce RTX 4090", 128, 23.6, "RTX 4090"),
        ("Tesla V100-SXM2-16GB", 80, 15.8, "V100 SXM2"),
    ],
)
def test_a_board_is_known_by_the_name_that_drivers_give(
    model: str, units: int, memory_gib: float, name: str
) -> None:
    found = find_board(model, units, int(memory_gib * GIB))

    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("model", "units", "memory_gib"),
    [
        ("NVIDIA A10G", 80, 22),
        ("NVIDIA H20", 78, 96),
        ("AMD Instinct MI300X", 38, 24),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", 42, 20),
        ("NVIDIA A100-PG999", 108, 79),
        ("", 0, 0),
        ("a\x00GPU" * 1000, 1, 1),
    ],
)
def test_another_board_or_a_part_of_one_is_unknown(
    model: str, units: int, memory_gib: float
) -> None:
    assert find_board(model, units, int(memory_gib * GIB)) is None


def test_a_gpu_without_a_name_is_known_by_sizes_that_only_one_board_has() -> None:
    nameless = find_board("", 304, int(191.98 * GIB), 64)

    assert nameless is not None
    assert nameless.name == "MI300X"
    assert find_board("", 256, 288 * GIB, 64) is None  # MI350X or MI355X
    assert find_board("", 132, 80 * GIB, 32) is None


def test_peaks_are_those_of_the_data_sheets() -> None:
    by_name = {board.name: board for board in boards()}

    assert by_name["MI300X"].tflops["bf16"] == 1307.4
    assert by_name["MI300X"].tflops["fp8"] == 2614.9
    assert by_name["MI300X"].memory_gb_per_s == 5324.8  # as chips.toml has it
    assert by_name["MI300X"].is_amd
    assert by_name["H100 SXM"].tflops["bf16"] == 989.4
    assert by_name["H200 SXM"].memory_gb_per_s == 4800.0
    assert by_name["B200"].tflops["fp4"] == 9000.0
    assert not by_name["B200"].is_amd
    assert "fp8" not in by_name["A100 40GB"].tflops
    assert all(board.memory_gb_per_s and board.tflops for board in boards())


def test_the_page_shows_every_peak() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("| board |"))
    types = [cell.strip() for cell in lines[first].split("|")[2:-2]]
    shown = lines[first + 2 : first + 2 + len(boards())]

    assert shown == [
        f"| {board.name} | "
        + " | ".join(f"{board.tflops[each]:g}" if each in board.tflops else "-" for each in types)
        + f" | {board.memory_gb_per_s:g} |"
        for board in boards()
    ]
    assert {each for board in boards() for each in board.tflops} == set(types)
