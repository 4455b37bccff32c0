"""Markers that repeat under changing numbers share a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.phases.paths import merged_names


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["step 1", "step 2"], ["step *", "step *"]),
        (["step_1", "step_2", "decode"], ["step_*", "step_*", "decode"]),
        (["ProfilerStep#6", "ProfilerStep#7"], ["ProfilerStep#*", "ProfilerStep#*"]),
        (["ProfilerStep#6"], ["ProfilerStep#6"]),
        (["layer12", "layer3"], ["layer*", "layer*"]),
        (["iter 3/10 loss 0.25", "iter 4/10 loss 0.5"], ["iter */* loss *"] * 2),
        (["model.layers.1.mlp", "model.layers.12.mlp"], ["model.layers.*.mlp"] * 2),
        (["Qwen1.5-0.5B", "Qwen1.5-0.6B"], ["Qwen1.5-0.5B", "Qwen1.5-0.6B"]),
        (["gemm_fp8", "gemm_fp16"], ["gemm_fp8", "gemm_fp16"]),
        (["bf16 2x4", "bf16 2x8"], ["bf16 2x4", "bf16 2x8"]),
        (["execute_32_context_0(sq0sk0)_generation_32(sq32sk9)"], ["execute (decode)"]),
        (["execute_9_context_1(sq9sk9)_generation_0(sq0sk0)"], ["execute (prefill)"]),
        (["execute_context_2(64)_generation_7(7)"], ["execute (mixed)"]),
        (["step[DECODE bs=32]", "step[EXTEND bs=2 toks=99]"], ["step[DECODE]", "step[EXTEND]"]),
        ([], []),
    ],
)
def test_merged_names(texts: list[str], names: list[str]) -> None:
    assert merged_names(texts) == names


@given(st.lists(st.text(max_size=40), unique=True, max_size=8))
def test_a_name_without_siblings_is_kept(texts: list[str]) -> None:
    for text, name in zip(texts, merged_names(texts), strict=True):
        assert name == text or "*" in name or name.startswith(("execute (", "step["))


def test_endless_names_are_no_trouble() -> None:
    assert merged_names(["1 " * 100_000])[0].startswith("1 1")
