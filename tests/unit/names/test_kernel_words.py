"""The words of kernel names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.names.kernel_words import names_in_symbol, spaced_words, words_of_name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topkGating_2D", " topk gating 2d "),
        ("FusedAddRMSNormKernel", " fused add rms norm kernel "),
        ("Sm100BlockScaledGemm", " sm100 block scaled gemm "),
        ("FusedMoEKernel", " fused moe kernel "),
        ("kQuantizeBlockwise", " k quantize blockwise "),
        ("(anonymous namespace)", " anonymous namespace "),
        ("", "  "),
    ],
)
def test_words(text: str, words: str) -> None:
    assert spaced_words(text) == words


def test_parts_of_a_name_stay_apart() -> None:
    assert words_of_name(["fbgemm_gpu", "permuteData"], "fbgemm_gpu::permuteData (Add, 64x8)") == (
        " permute data ",
        " fbgemm gpu ",
        " add 64x8 ",
    )


def test_a_name_that_is_no_cpp_name_has_the_words_of_its_short_one() -> None:
    assert words_of_name([], "triton_mm (64x64x8)").own == " triton mm "


def test_a_symbol_that_was_cut_off_has_the_words_of_its_names() -> None:
    symbol = "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23Imp..."

    assert names_in_symbol(symbol) == ["cutlass_cudnn_train", "Kernel", "conv", "kernel", "Imp..."]
    assert words_of_name([symbol], symbol).own == " cutlass cudnn train kernel conv kernel imp "


@given(st.text(max_size=600))
def test_any_text_has_words(text: str) -> None:
    words = spaced_words(text)

    assert words.startswith(" ") and words.endswith(" ")
    assert words == words.lower()
