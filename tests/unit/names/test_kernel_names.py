"""Short kernel names: golden names per family, user rules, and bounds on hostile names."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wavescope.errors import UsageError
from wavescope.model.toml_files import read_rules
from wavescope.names.kernel_names import (
    LONGEST_MATCHED,
    LONGEST_SHORT,
    NameRules,
    _built_in_names,
    kernel_key,
    meaning_of,
    short_name,
)
from wavescope.package_files import package_file

FAR_TOO_LONG_S = 20
"""Of CPU, where some milliseconds are right: what grows with the square takes minutes."""
GOLDEN = Path(__file__).parents[2] / "golden" / "kernel_names.tsv"
GOLDEN_ROWS = [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines()]

# Pieces that C++ names, labels and attacks are made of.
PIECES = st.sampled_from(
    [
        "(",
        ")",
        "<",
        ">",
        "[",
        "]",
        "{",
        "}",
        "::",
        ",",
        "operator",
        "operator<",
        "operator()",
        "->",
        "void",
        "(anonymous_namespace)",
        "{lambda(int)#1}",
        "(anonymous",
        "namespace)",
        "at::native::",
        "ck_tile::kentry<",
        "Cijk_",
        "_MT1x2x3_",
        "_ZN",
        "1a",
        "I",
        "E",
        "S_",
        "S0_",
        "T_",
        "T0_",
        "Dp",
        "Li1E",
        "P",
        "F",
        "v",
        "Z",
        "Ul",
        "BinaryFunctor<",
        "&(",
        "#1",
        "'lambda'",
        ".kd",
        "\n",
        "\x00",
        "é",
        "😀",
        "const",
        "*",
        "&",
        "triton_poi_fused_",
        "_BLOCK_SIZE_M_",
    ]
)


@pytest.mark.parametrize(("expected", "full"), GOLDEN_ROWS)
def test_golden_name(expected: str, full: str) -> None:
    assert short_name(full) == expected


@pytest.mark.parametrize(("expected", "full"), GOLDEN_ROWS)
def test_a_short_name_stays_as_it_is(expected: str, full: str) -> None:
    assert short_name(expected) == expected


@pytest.mark.parametrize(
    "spelling",
    [
        "_Z4axpyIfEvPfi",
        "_Z4axpyIfEvPfi.kd",
        "void axpy<float>(float*, int)",
        "void axpy<float>(float*, int) [clone .kd]",
        "void axpy<float>(float*, int) (.kd)",
        "void axpy<float>(float*, int).kd",
        "axpy<float>(float *,int)",
    ],
)
def test_all_spellings_of_a_kernel_are_one(spelling: str) -> None:
    assert kernel_key(spelling) == "axpy<float>(float*,int)"
    assert short_name(spelling) == "axpy"


@pytest.mark.parametrize("name", ["", ".kd", "(.kd)", "[clone .kd]"])
def test_a_name_that_is_only_a_suffix_stays(name: str) -> None:
    assert kernel_key(name) == name


def test_operations_that_differ_keep_different_names() -> None:
    def elementwise(functor: str) -> str:
        return short_name(
            f"void at::native::vectorized_elementwise_kernel<4, {functor}, std::array<char*, 2ul> >(int)"
        )

    pow_function = (
        "at::native::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)"
    )
    gelu_function = "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)"

    assert elementwise(f"{pow_function}::{{lambda(float)#1}}") == (
        "vectorized_elementwise (pow_tensor_scalar)"
    )
    assert elementwise(f"{pow_function}::{{lambda(float)#3}}") == (
        "vectorized_elementwise (pow_tensor_scalar #3)"
    )
    assert elementwise(
        f"{gelu_function}::{{lambda()#1}}::operator()() const::{{lambda(float)#1}}"
    ) == ("vectorized_elementwise (gelu_tanh)")
    assert elementwise(
        f"{gelu_function}::{{lambda()#2}}::operator()() const::{{lambda(float)#1}}"
    ) == ("vectorized_elementwise (gelu)")


@pytest.mark.parametrize(
    "label",
    [
        "prefill",
        "Memset (Device)",
        "step 3 of 10",
        'say "hi"\n<script>',
        "a/../b",
        "",
        "0",
        "é\x00\x1b[31m",
    ],
)
def test_what_is_no_cpp_name_survives(label: str) -> None:
    assert short_name(label) == label


@given(st.lists(PIECES, max_size=30).map("".join))
@example("operatoroperator<operator()")  # the last bracket of what is never closed
def test_any_text_has_a_name_no_longer_than_itself(text: str) -> None:
    name = short_name(text)

    assert bool(name) == bool(text)
    # A detail adds its parentheses; a demangled name may be longer than its symbol.
    assert text.startswith("_Z") or len(name) <= len(text) + 16


@given(st.text(max_size=200))
def test_arbitrary_unicode_never_fails(text: str) -> None:
    assert isinstance(short_name(text), str)


@pytest.mark.parametrize(
    "piece",
    ["a<", "(", "(<", "void ", "a::", "operator<", "a<b, ", "f()::{lambda()#1}::", "Cijk_Ailk_Bljk_a_", "ScaleA_",
     "PostGSU1_", "triton_poi_fused_a_0", "a_kernel_A_", "BinaryFunctor<", "ck_tile::kentry<", "&(", '"\n'],
)  # fmt: skip
def test_a_million_characters_take_no_time(piece: str) -> None:
    for name in (
        piece * (1_000_000 // len(piece)),
        "Cijk_" + piece * 200_000,
        "void a<" + piece * 200_000,
    ):
        start = time.process_time()
        short_name(name)
        assert time.process_time() - start < FAR_TOO_LONG_S


def test_names_of_many_fused_operators_lose_their_middle_and_stay_apart() -> None:
    fused = "_".join(["arange", "cat", "clone", "cos", "div", "expand", "mul", "pow"] * 3)
    names = [f"triton_poi_fused_{fused}_{middle}_{fused}_11" for middle in ("sin", "tan")]

    first, second = map(short_name, names)

    assert first.startswith("triton_poi (arange_cat_clone_cos_")
    assert first.endswith("_mul_pow #11)")
    assert len(first) == len(second)
    assert LONGEST_SHORT - 16 < len(first) <= LONGEST_SHORT
    assert first != second
    assert first.removeprefix("triton_poi (").split("…")[0].rstrip("_") in fused
    assert first.split("…")[-1].removesuffix(" #11)").lstrip("_") in fused
    assert {"", *re.split(r"…\w+…|_", first[12:-5])} <= {"", *fused.split("_")}
    assert short_name(first) == first


def test_what_a_kernel_is_does_not_depend_on_the_cut() -> None:
    fused = "_".join(["arange", "cat", "clone"] * 6)

    assert meaning_of(f"triton_red_fused_{fused}_rsqrt_{fused}_3").category == "normalization"


class TestUserRules:
    def write(self, folder: Path, text: str) -> Path:
        path = folder / "rules.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def test_the_first_matching_rule_names_the_group(self, tmp_path: Path) -> None:
        rules = NameRules.from_document(
            read_rules(
                self.write(
                    tmp_path,
                    r"""
                [[rule]]
                match = '^Cijk_.*_(MT\d+x\d+x\d+)_'
                name = 'hipBLASLt GEMM (\1)'
                category = "gemm"
                [[rule]]
                match = '^Cijk'
                name = 'never reached for GEMMs'
                [[rule]]
                match = 'aiter::(?P<what>\w+?)_'
                name = 'AITER \g<what>'
                """,
                )
            )
        )

        names = [
            "Cijk_Ailk_Bljk_HHS_BH_MT128x128x256_MI16x16x1.kd",
            "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
            "my_kernel(float*)",
            "Cijk_Ailk_Bljk_HHS_BH_MT128x128x256_MI16x16x1.kd",
        ]
        assert rules.group(names) == [
            "hipBLASLt GEMM (MT128x128x256)",
            "AITER add",
            "my_kernel",
            "hipBLASLt GEMM (MT128x128x256)",
        ]
        assert rules.named(names[0]).category == "gemm"
        assert rules.named(names[2]).category == ""

    def test_the_built_in_rules_would_pass_as_a_users_file(self, tmp_path: Path) -> None:
        path = package_file("names", "rules", "kernel_names.toml")
        assert path is not None
        rules, others = path.read_text(encoding="utf-8").split("[namespaces]")

        checked = NameRules.from_document(read_rules(self.write(tmp_path, rules))).rules

        assert checked == _built_in_names()[0]
        assert "[[rule]]" not in others

    def test_without_rules_the_built_in_names_apply(self) -> None:
        assert NameRules().group(["void f<int>(int)", "g"]) == ["f", "g"]

    def test_a_pattern_sees_the_front_of_a_long_name_only(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "[[rule]]\nmatch = 'needle'\nname = 'found'\n")
        rules = NameRules.from_document(read_rules(path))

        assert rules.group(["a" * (LONGEST_MATCHED - 6) + "needle"]) == ["found"]
        assert rules.group(["a" * LONGEST_MATCHED + "needle"]) == ["a" * LONGEST_MATCHED + "needle"]

    def test_an_empty_file_has_no_rules(self, tmp_path: Path) -> None:
        assert NameRules.from_document(read_rules(self.write(tmp_path, ""))).rules == ()

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "[[rule]]\nmatch = 'a'\nname = 'b'\n[[rule]]\nmatch = '('\nname = 'x'\n",
                "rule 2: '(' is not a regular expression: missing )",
            ),
            ("[[rule]]\nmatch = 'a'\nname = '\\1'\n", "rule 1: invalid group reference 1"),
            ("[[rule]]\nmatch = 'a'\nname = '\\g<x>'\n", "rule 1: unknown group name 'x'"),
            ("[[rule]]\nmatch = 'a'\n", "rule 1: needs match, and one of name, category and note"),
            ("[[rule]]\nmatch = 'a'\nname = 3\n", "rule 1: name must be text"),
            ("[[rule]]\nmatch = 'a'\nname = 'b'\ncolour = 'red'\n", "rule 1: unknown key 'colour'"),
            ("rule = 3\n", "holds something other than [[rule]] tables"),
            ("[other]\na = 1\n", "holds something other than [[rule]] tables"),
        ],
    )
    def test_a_mistake_is_named_with_its_rule(
        self, tmp_path: Path, text: str, message: str
    ) -> None:
        path = self.write(tmp_path, text)

        with pytest.raises(UsageError) as caught:
            NameRules.from_document(read_rules(path))

        assert message in str(caught.value)
        assert str(path) in str(caught.value)
