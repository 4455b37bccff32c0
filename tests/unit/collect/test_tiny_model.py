"""The tiny model's file: what GGUF's layout says about it, read back field by field."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from wavescope.collect.demo import TinyModel, WeightType, write_tiny_model

SMALL = TinyModel(layers=1, width=64, heads=2, key_heads=1, hidden=96, vocabulary=320)
LAYOUTS = {4: "<I", 5: "<i", 6: "<f"}


def take(file: BinaryIO, layout: str) -> Any:
    (value,) = struct.unpack(layout, file.read(struct.calcsize(layout)))
    return value


def take_text(file: BinaryIO) -> str:
    return file.read(take(file, "<Q")).decode()


def take_value(file: BinaryIO, kind: int) -> Any:
    if kind == 8:
        return take_text(file)
    if kind == 9:
        item = take(file, "<I")
        return [take_value(file, item) for _ in range(take(file, "<Q"))]
    return take(file, LAYOUTS[kind])


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, tuple[Any, ...]], int]:
    """Facts, tensors as (dimensions, type, offset), and where their data begins."""
    with path.open("rb") as file:
        assert file.read(4) == b"GGUF"
        assert take(file, "<I") == 3
        tensor_count, fact_count = take(file, "<Q"), take(file, "<Q")
        facts = {}
        for _ in range(fact_count):
            name = take_text(file)
            facts[name] = take_value(file, take(file, "<I"))
        tensors = {}
        for _ in range(tensor_count):
            name = take_text(file)
            dimensions = tuple(take(file, "<Q") for _ in range(take(file, "<I")))
            tensors[name] = (dimensions, take(file, "<I"), take(file, "<Q"))
        return facts, tensors, -(-file.tell() // 32) * 32


def test_a_model_says_its_shape(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "model.gguf", SMALL)

    facts, tensors, _ = read_model(tmp_path / "model.gguf")

    assert facts["general.architecture"] == "llama"
    assert facts["llama.block_count"] == 1
    assert facts["llama.attention.head_count"] == 2
    assert facts["llama.rope.dimension_count"] == 32
    assert len(facts["tokenizer.ggml.tokens"]) == 320
    assert facts["tokenizer.ggml.tokens"][:4] == ["<unk>", "<s>", "</s>", "<0x00>"]
    assert len(facts["tokenizer.ggml.scores"]) == len(facts["tokenizer.ggml.token_type"]) == 320
    assert tensors["blk.0.attn_k.weight"][0] == (64, 32)
    assert tensors["blk.0.ffn_down.weight"][0] == (96, 64)
    assert len(tensors) == 3 + 9


@pytest.mark.parametrize(
    ("weights", "type_number", "bytes_of_output"),
    [(WeightType.F16, 1, 320 * 64 * 2), (WeightType.Q4_0, 2, 320 * 64 // 32 * 18)],
)
def test_tensors_follow_one_another_aligned_to_the_end(
    weights: WeightType, type_number: int, bytes_of_output: int, tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    write_tiny_model(path, TinyModel(1, 64, 2, 1, 96, 320, weights))

    _, tensors, begin = read_model(path)

    assert tensors["output.weight"][1] == type_number
    assert tensors["output_norm.weight"][1] == 0
    offsets = [offset for _, _, offset in tensors.values()]
    assert offsets == sorted(offsets)
    assert all(offset % 32 == 0 for offset in offsets)
    after_output = min(offset for offset in offsets if offset > tensors["output.weight"][2])
    assert after_output - tensors["output.weight"][2] == bytes_of_output
    last_bytes = 96 * 64 * 2 if weights is WeightType.F16 else 96 * 64 // 32 * 18
    assert path.stat().st_size == begin + offsets[-1] + last_bytes


def test_equal_models_are_equal_files_and_nothing_is_overwritten(tmp_path: Path) -> None:
    first, second = tmp_path / "first.gguf", tmp_path / "second.gguf"
    write_tiny_model(first, SMALL)
    write_tiny_model(second, SMALL)

    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(FileExistsError):
        write_tiny_model(first, SMALL)
