"""Demangling: values per construct, and bounds on hostile symbols."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.names.demangle import demangle, why_unresolved
from wavescope.names.itanium_functions import LONGEST_RESULT

FAR_TOO_LONG_S = 20
"""Of CPU, where some milliseconds are right: what grows with the square takes minutes."""
SYMBOLS = {
    "_Z3addPfi": "add(float*, int)",
    "_Z3addv.kd": "add()",
    "_ZN2ns3addEPKfRKd": "ns::add(float const*, double const&)",
    "_ZN12_GLOBAL__N_13addEi": "(anonymous namespace)::add(int)",
    "_ZL3addi": "add(int)",
    "_Z3addIfLi4EEvPT_": "void add<float, 4>(float*)",
    "_Z3addIfLi4ELb1ELj8ELm2ELl3EEvPT_": "void add<float, 4, true, 8u, 2ul, 3l>(float*)",
    "_Z3addILin3EEvv": "void add<-3>()",
    "_Z3addIL8NormType1EEvv": "void add<(NormType)1>()",
    "_Z3addIN1a1bIiEEEvT_S3_": "void add<a::b<int> >(a::b<int>, a::b<int>)",
    "_Z3addIJifdEEvDpT_": "void add<int, float, double>(int, float, double)",
    "_Z3addIJEEvDpT_": "void add<>()",
    "_Z3addIJifEEvDpRKT_": "void add<int, float>(int const&, float const&)",
    "_Z3addIDF16bDF16_DhEvv": "void add<std::bfloat16_t, _Float16, half>()",
    "_Z3addIDv4_fEvv": "void add<float __vector(4)>()",
    "_Z3addPFviE": "add(void (*)(int))",
    "_Z3addPFPFvvEiE": "add(void (*(*)(int))())",
    "_Z3addRA3_i": "add(int (&) [3])",
    "_Z3addM1aFivE": "add(int (a::*)())",
    "_Z3addM1ai": "add(int a::*)",
    "_Z3addU3AS1Pf": "add(float* AS1)",
    "_ZN1aC1Ev": "a::a()",
    "_ZN1aIiED2Ev": "a<int>::~a()",
    "_ZN1acvbEv": "a::operator bool()",
    "_ZNK1aclEi": "a::operator()(int) const",
    "_ZltRK1aS1_": "operator<(a const&, a const&)",
    "_ZStplIcEvv": "void std::operator+<char>()",
    "_Z3addSsSaIcE": "add(std::string, std::allocator<char>)",
    "_ZZ3addiENKUlfE_clEf": "add(int)::{lambda(float)#1}::operator()(float) const",
    "_ZZ3addiENKUlT_E0_clIfEEDaS_": "auto add(int)::{lambda(auto:1)#2}::operator()<float>(float) const",
    "_Z3addIXadL_Z4siluIfET_S1_EEEvv": "void add<&(float silu<float>(float))>()",
    "_Z3addIfTnPFT_S0_EXadL_Z4siluIfES0_S0_EEEvPS0_": "void add<float, &(float silu<float>(float))>(float*)",
    "_Z3addv.intern.b96e": "add() [clone .intern.b96e]",
    "_Z3addB5cxx11v": "add[abi:cxx11]()",
}  # fmt: skip


@pytest.mark.parametrize(("symbol", "expected"), SYMBOLS.items())
def test_symbol(symbol: str, expected: str) -> None:
    assert demangle(symbol) == expected


def test_a_reference_to_a_template_parameter_follows_the_template_it_stands_in() -> None:
    # S9_ is T1_ of the inner function where it was first seen, and of the kernel where it is used.
    symbol = (
        "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_12_GLOBAL__N_119masked_scale_kernelIhffEEvRNS_6TensorERKS4_"
        "S7_T1_EUlfhE_St5arrayIPcLm3EEEEviT0_S8_.kd"
    )

    assert demangle(symbol).endswith("{lambda(float, unsigned char)#1}, std::array<char*, 3ul>)")


@pytest.mark.parametrize(
    "name", ["gemm", "", "_Z", "_Z3", "_Z9add", "_ZN", "_ZS_", "_Z3addS5_", "_ZTV1a"]
)
def test_what_cannot_be_read_comes_back(name: str) -> None:
    assert demangle(name) == name


def doubling_symbol(levels: int) -> str:
    """Every level is a function type of the level before, twice: 2**levels characters."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text, last = "_Z1fPFviE", 0
    for _ in range(levels):
        number = digits[last // 36] + digits[last % 36] if last >= 36 else digits[last]
        text += f"PFvS{number}_S{number}_E"
        last += 2
    return text


def test_a_symbol_that_would_double_forever_is_left_alone() -> None:
    assert len(demangle(doubling_symbol(4))) == 726

    symbol = doubling_symbol(100)  # whole, it would be longer than any memory
    assert demangle(symbol) == symbol


@pytest.mark.parametrize(
    "symbol",
    ["_Z1f" + "P" * 10_000 + "i", "_Z1f" + "N1aI" * 3_000, "_Z" + "9" * 10_000, "_Z1fIJ" + "i" * 3_000 + "EEv" + "DpPFvDpT_E" * 20,
     "_Z1f" + "1aI" * 5_000, "_Z" * 500_000],
)  # fmt: skip
def test_hostile_symbols_are_left_alone_quickly(symbol: str) -> None:
    start = time.process_time()
    assert demangle(symbol) == symbol
    assert time.process_time() - start < FAR_TOO_LONG_S


LETTERS = st.sampled_from(
    [
        "_Z",
        "N",
        "E",
        "I",
        "J",
        "L",
        "X",
        "S_",
        "S0_",
        "S1_",
        "St",
        "Sa",
        "T_",
        "T0_",
        "P",
        "R",
        "K",
        "O",
        "F",
        "v",
        "i",
        "f",
        "j",
        "Dp",
        "Dv4_",
        "DF16b",
        "Ul",
        "E_",
        "Ut_",
        "1a",
        "2bc",
        "12_GLOBAL__N_1",
        "Li1E",
        "Lb0E",
        "cl",
        "ad",
        "Z",
        "M",
        "A3_",
        "U3AS1",
        "C1",
        "D1",
        "cv",
        "pl",
        "sr",
        "Tn",
        "Tp",
        "B",
        "s",
        "_0",
        "0",
        ".",
        "é",
    ]
)


@given(st.lists(LETTERS, max_size=40).map("".join))
def test_any_symbol_gives_a_bounded_text(rest: str) -> None:
    assert 0 < len(demangle("_Z" + rest)) <= LONGEST_RESULT + 64


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "no name"),
        (" ", "no name"),
        ("0x7f3a00001000", "address"),
        ("kernel@0x7f3a00001000", "address"),
        ("7f3a00001000", "address"),
        ("12", "number"),
        ("kernel 12", "number"),
        ("(unknown kernel)", "unknown"),
        ("unknown kernel 7", "unknown"),
        ("???", "unknown"),
        ("_ZN5aiter37dynamic_per_group", "mangled"),
        ("_ZN5aiter37dynamic_per_group.kd", "mangled"),
        ("_Z3addv", ""),
        ("_Z3addv.kd", ""),
        ("gemm", ""),
        ("kernel_1", ""),
        ("deadbeef", ""),
        ("unknown_pose_estimator", ""),
        ("triton_poi_fused_0", ""),
        ("main_kernel", ""),
    ],
)
def test_names_that_say_nothing_are_told_with_the_reason(name: str, reason: str) -> None:
    assert why_unresolved(name) == reason


@given(st.text(max_size=200))
def test_any_name_is_resolved_or_not(name: str) -> None:
    assert isinstance(why_unresolved(name), str)
