"""Untrusted text becomes harmless, and fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.render.cells.escape import (
    cell_width,
    padded,
    shortened,
    shortened_texts,
    visible,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void gemm<float>(int)", "void gemm<float>(int)"),
        ("two\nlines\r\t", "two\\nlines\\r\\t"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b2Jcleared", "\\x9b2Jcleared"),
        ("a\u202egnp.exe", "a\\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("half \udcff surrogate", "half \\udcff surrogate"),
        ("内核 größe", "内核 größe"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_act_on_is_spelled_out(text: str, expected: str) -> None:
    assert visible(text) == expected


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_visible_text_is_one_line_that_can_be_encoded(text: str) -> None:
    shown = visible(text)

    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown
    assert shown.encode("utf-8").decode("utf-8") == shown


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("内核", 4), ("e\u0301", 1), ("🚀", 2), ("", 0)]
)
def test_wide_characters_take_two_cells(text: str, cells: int) -> None:
    assert cell_width(text) == cells


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("Cijk_Alik_Bljk_MT256x256x64_MI16", 16, "Cijk_Alik_…_MI16"),
        ("Cijk_Alik_Bljk_MT256x256x64_MI16", 24, "Cijk_…_MT256x256x64_MI16"),
        ("Cijk_Ailk_Bljk (MT256x16x384)", 20, "Cijk_…MT256x16x384)"),
        (
            "Cijk_Ailk_Bljk_HHS_BH_UserArgs_MT256x16x64_MI16x16x1_SN",
            26,
            "Cijk_Ailk_…_MT256x16x64…SN",
        ),
        ("MIOpenBatchNormFwdTrainSpatialFinalMeanVariance", 24, "MIOpenBatchNorm…Variance"),
        ("abcdef", 1, "…"),
        ("abcdef", 0, ""),
        ("内核内核内核内核", 8, "内核…核"),
    ],
)
def test_long_names_lose_their_middle(text: str, width: int, expected: str) -> None:
    assert shortened(text, width) == expected


@given(st.text(), st.integers(0, 60))
def test_a_shortened_text_never_exceeds_its_width(text: str, width: int) -> None:
    assert cell_width(shortened(text, width)) <= width


def test_texts_of_one_column_keep_the_words_that_tell_them_apart() -> None:
    names = [
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT",
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT",
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_bias_TNT",
        "cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4",
        "cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align1",
        "gemm",
    ]

    assert shortened_texts(names, 24) == [
        "nvjet…64x8_64x16…splitK…",
        "nvjet…64x8_64x16_4x1…TNT",
        "nvjet_…_64x8_64x16…bias…",
        "cutlass_…_128x128…align4",
        "cutlass_…_128x128…align1",
        "gemm",
    ]


def test_texts_that_no_word_tells_apart_get_a_mark() -> None:
    names = ["a" * 40 + "x" + "b" * 40, "a" * 40 + "y" + "b" * 40]

    first, second = shortened_texts(names, 20)

    assert first.startswith("aaaa") and second.startswith("aaaa")
    assert first[-5] == second[-5] == "~"
    assert first != second


@given(
    st.lists(
        st.lists(
            st.sampled_from(["Cijk", "_", "MT256x16", "gemm", " (", ")", "Fwd", "1", "::", "é"]),
            max_size=30,
        ).map("".join),
        unique=True,
        max_size=30,
    ),
    st.integers(9, 60),
)
def test_different_texts_stay_different(texts: list[str], width: int) -> None:
    short = shortened_texts(texts, width)

    assert len(set(short)) == len(texts)
    assert all(cell_width(text) <= width for text in short)


def test_padding_counts_cells_not_characters() -> None:
    assert padded("内", 4, right=True) == "  内"
    assert padded("ab", 4, right=False) == "ab  "
