"""FLOPs and bytes of operators, each computed by hand beside the call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.analyze.work.inputs import (
    BF16,
    BOOL,
    DOUBLE,
    FLOAT,
    FP4,
    FP8,
    HALF,
    INT8,
    INT32,
    INT64,
    Given,
    recorded,
    work_of,
)
from wavescope.analyze.work.arguments import Arguments
from wavescope.analyze.work.formulas import FORMULAS

# operator, arguments, FLOPs, bytes, data type of the arithmetic
Case = tuple[str, tuple[Given, ...], int, int, str]

PRODUCTS: list[Case] = [
    # 2*64*32*128; (64*128 + 128*32 + 64*32) elements of 2 bytes
    ("aten::mm", ((BF16, (64, 128)), (BF16, (128, 32))), 524_288, 28_672, "bf16"),
    # 2*64*32*128; the same and a bias of 32, 4 bytes each
    (
        "aten::addmm",
        ((FLOAT, (32,)), (FLOAT, (64, 128)), (FLOAT, (128, 32)), "1", "1"),
        524_288,
        (64 * 128 + 128 * 32 + 64 * 32 + 32) * 4,
        "fp32",
    ),
    # 8 times 2*5*7*3; 8*(15 + 21 + 35) elements of 2 bytes
    ("aten::bmm", ((HALF, (8, 5, 3)), (HALF, (8, 3, 7))), 1_680, 8 * 71 * 2, "fp16"),
    # the same with an addend of 8*5*7
    (
        "aten::baddbmm",
        ((HALF, (8, 5, 7)), (HALF, (8, 5, 3)), (HALF, (8, 3, 7)), "1", "1"),
        1_680,
        8 * (71 + 35) * 2,
        "fp16",
    ),
    # 2*(2*3)*5*4; (2*3*4 + 5*4 + 5 + 2*3*5) elements of 8 bytes
    (
        "aten::linear",
        ((DOUBLE, (2, 3, 4)), (DOUBLE, (5, 4)), (DOUBLE, (5,))),
        240,
        (24 + 20 + 5 + 30) * 8,
        "fp64",
    ),
    # batches times one matrix: 2*(2*3)*5*4
    (
        "aten::matmul",
        ((FLOAT, (2, 3, 4)), (FLOAT, (4, 5))),
        240,
        (24 + 20 + 30) * 4,
        "fp32",
    ),
    # 2*6*4; (24 + 4 + 6) elements of 4 bytes
    ("aten::mv", ((FLOAT, (6, 4)), (FLOAT, (4,))), 48, 136, "fp32"),
    # 2*16*8*32; operands of 1 byte, scales of 4, the product in 2: 512 + 256 + 8 + 256
    (
        "aten::_scaled_mm",
        ((FP8, (16, 32)), (FP8, (32, 8)), (FLOAT, ()), (FLOAT, ())),
        8_192,
        512 + 256 + 8 + 256,
        "fp8",
    ),
    # 2*16*8*32; operands of 1 byte, the product of 4: 512 + 256 + 512
    ("aten::_int_mm", ((INT8, (16, 32)), (INT8, (32, 8))), 8_192, 1_280, "int8"),
    # 2*10*6*4, each row one of 3 groups: 10*4 + 3*4*6 + 10*6 elements of 2 bytes
    (
        "aten::_grouped_mm",
        ((BF16, (10, 4)), (BF16, (3, 4, 6)), (INT32, (3,))),
        480,
        (40 + 72 + 60) * 2,
        "bf16",
    ),
    # weights are [N, K]: 2*16*24*32; (512 + 768 + 384) elements of 2 bytes
    (
        "aiter::gemm_a16w16",
        ((BF16, (16, 32)), (BF16, (24, 32)), None, "15", None),
        24_576,
        (512 + 768 + 384) * 2,
        "bf16",
    ),
    # 2*16*24*32; 512 + 768 bytes, scales 16*4 + 24*4, the product in 2 bytes
    (
        "aiter::gemm_a8w8_ck",
        (
            (FP8, (16, 32)),
            (FP8, (24, 32)),
            (FLOAT, (16, 1)),
            (FLOAT, (24,)),
            (BF16, (16, 24)),
        ),
        24_576,
        512 + 768 + 64 + 96 + 768,
        "fp8",
    ),
    # two elements in each stored byte, K is 64: 2*16*24*64; 512 + 768 + 768 bytes
    (
        "aiter::gemm_a4w4",
        ((FP4, (16, 32)), (FP4, (24, 32))),
        49_152,
        512 + 768 + 768,
        "fp4",
    ),
    # the output comes first: 2*16*8*32; 512 + 256 + 16 + 32 of scales, 256 of the output
    (
        "_C::cutlass_scaled_mm",
        (
            (BF16, (16, 8)),
            (FP8, (16, 32)),
            (FP8, (32, 8)),
            (FLOAT, (4,)),
            (FLOAT, (8,)),
            None,
        ),
        8_192,
        512 + 256 + 16 + 32 + 256,
        "fp8",
    ),
    # weights in 8 bits, computed in 16: 2*2*4*8; 32 + 32 + 16
    (
        "vllm::rocm_unquantized_gemm",
        ((BF16, (2, 8)), (FP8, (4, 8)), None),
        128,
        2 * 8 * 2 + 4 * 8 + 2 * 4 * 2,
        "bf16",
    ),
]

IMAGE, KERNELS = (FLOAT, (2, 4, 8, 8)), (FLOAT, (6, 4, 3, 3))

CONVOLUTIONS: list[Case] = [
    # padding 1 keeps 8x8: 2*2*6*64*4*9; (512 + 216 + 6 + 768) elements of 4 bytes
    (
        "aten::convolution",
        (IMAGE, KERNELS, (FLOAT, (6,)), "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"),
        55_296,
        (512 + 216 + 6 + 768) * 4,
        "fp32",
    ),
    # stride 2 without padding leaves (8 - 3)//2 + 1 = 3: 2*2*6*9*4*9
    (
        "aten::cudnn_convolution",
        (IMAGE, KERNELS, "[0, 0]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"),
        7_776,
        (512 + 216 + 2 * 6 * 9) * 4,
        "fp32",
    ),
    # two groups, each output meets 2 channels: 2*2*6*64*2*9
    (
        "aten::miopen_convolution",
        (IMAGE, (FLOAT, (6, 2, 3, 3)), None, "[1, 1]", "[1, 1]", "[1, 1]", "2", "False", "False"),
        27_648,
        (512 + 108 + 768) * 4,
        "fp32",
    ),
    # transposed, stride 2: (8 - 1)*2 + 3 = 17 wide; every input meets 6*9: 2*2*4*64*6*9
    (
        "aten::convolution",
        (
            IMAGE,
            (FLOAT, (4, 6, 3, 3)),
            None,
            "[2, 2]",
            "[0, 0]",
            "[1, 1]",
            "True",
            "[0, 0]",
            "1",
        ),
        55_296,
        (512 + 216 + 2 * 6 * 17 * 17) * 4,
        "fp32",
    ),
    # both gradients: twice 55,296; the gradient 768, weights and input read, both written
    (
        "aten::convolution_backward",
        (
            (FLOAT, (2, 6, 8, 8)),
            IMAGE,
            KERNELS,
            "[6]",
            "[1, 1]",
            "[1, 1]",
            "[1, 1]",
            "False",
            "[0, 0]",
            "1",
            "[True, True, False]",
        ),
        110_592,
        (768 + 2 * (216 + 512)) * 4,
        "fp32",
    ),
]

Q, K = (BF16, (2, 8, 16, 64)), (BF16, (2, 2, 32, 64))

ATTENTIONS: list[Case] = [
    # 2*8 heads, 16*32 pairs, 2*(64 + 64) each; q and output 2*2*8*16*64, k and v 2*2*2*32*64
    (
        "aten::_scaled_dot_product_flash_attention",
        (Q, K, K, "0.", "False", "False", "0.125"),
        2 * 8 * 16 * 32 * 256,
        (2 * 16_384 + 2 * 8_192) * 2,
        "bf16",
    ),
    # causal, the last query sees all: 16*32 - 16*15/2 = 392 pairs
    (
        "aten::_scaled_dot_product_efficient_attention",
        (Q, K, K, None, "False", "0.", "True"),
        2 * 8 * 392 * 256,
        (2 * 16_384 + 2 * 8_192) * 2,
        "bf16",
    ),
    # [batch, tokens, heads, size]; 4 causal queries and keys are 10 pairs
    (
        "aiter::fmha_v3_fwd",
        (
            (HALF, (1, 4, 3, 8)),
            (HALF, (1, 4, 3, 8)),
            (HALF, (1, 4, 3, 8)),
            "0.",
            "1.",
            "True",
            "-1",
            "-1",
        ),
        3 * 10 * 32,
        4 * 96 * 2,
        "fp16",
    ),
    # backward: 5 products, 2*(3*64 + 2*64) for each pair; q, k, v, output and its gradient read,
    # three gradients written
    (
        "aten::_scaled_dot_product_flash_attention_backward",
        (Q, Q, K, K, Q, (FLOAT, (2, 8, 16)), None, None, "16", "32", "0.", "False"),
        2 * 8 * 16 * 32 * 640,
        (4 * 16_384 + 4 * 8_192 + 16_384) * 2,
        "bf16",
    ),
    # three sequences of 5 tokens, packed: 3 * 2 heads * 15 causal pairs * 2*(4 + 4)
    (
        "flash_attn::_flash_attn_varlen_forward",
        (
            (BF16, (15, 2, 4)),
            (BF16, (15, 2, 4)),
            (BF16, (15, 2, 4)),
            (INT32, (4,)),
            (INT32, (4,)),
            "5",
            "5",
            "0.",
            "1.",
            "True",
            "-1",
            "-1",
        ),
        3 * 2 * 15 * 16,
        4 * 120 * 2,
        "bf16",
    ),
    # the cache holds more than is used: 2 sequences of 4 tokens that begin here
    (
        "aiter::mha_batch_prefill",
        (
            (BF16, (8, 2, 4)),
            (BF16, (900, 1, 4)),
            (BF16, (900, 1, 4)),
            (INT32, (3,)),
            (INT32, (3,)),
            (INT32, (8,)),
            "4",
            "4",
            "0.",
            "1.",
            "0.",
            "False",
            "True",
            "-1",
            "-1",
        ),
        2 * 2 * 10 * 16,
        (2 * 64 + 2 * 32) * 2,
        "bf16",
    ),
]

MIXTURES: list[Case] = [
    # one token chooses 2 of 8 experts: 2*2*16*(2*32 + 32); 2 of 8 of both weights, x twice
    (
        "vllm::outplace_fused_experts",
        (
            (BF16, (1, 16)),
            (BF16, (8, 64, 16)),
            (BF16, (8, 16, 32)),
            (FLOAT, (1, 2)),
            (INT32, (1, 2)),
        ),
        6_144,
        2 * (64 * 16 + 16 * 32) * 2 + 2 * 16 * 2,
        "bf16",
    ),
    # the number of chosen experts is an argument, the output comes first
    (
        "aiter::fmoe",
        (
            (BF16, (1, 16)),
            (BF16, (1, 16)),
            (BF16, (8, 32, 16)),
            (BF16, (8, 16, 32)),
            None,
            None,
            None,
            None,
            "8",
        ),
        2 * 8 * 16 * (32 + 32),
        8 * 1_024 * 2 + 64,
        "bf16",
    ),
    # one stage, 4-bit weights with two elements in each: 2*1*2*64*16
    (
        "aiter::ck_moe_stage1",
        (
            (BF16, (1, 16)),
            (FP4, (4, 64, 8)),
            (FP4, (4, 16, 16)),
            None,
            None,
            None,
            (BF16, (1, 2, 32)),
            "2",
        ),
        4_096,
        2 * 64 * 8 + 16 * 2 + 64 * 2,
        "bf16",
    ),
]

X = (FLOAT, (4, 8))

MEMORY: list[Case] = [
    # (5 + scale + shift) for each of 32; x, 8 + 8 parameters and y of 4 bytes
    ("aten::native_layer_norm", (X, "[8]", (FLOAT, (8,)), (FLOAT, (8,)), "1e-5"), 224, 320, "fp32"),
    # forward's 7 twice; gradient, x and result
    ("aten::native_layer_norm_backward", (X, X, "[8]"), 448, 384, "fp32"),
    # square, add, scale, weight
    ("aten::_fused_rms_norm", (X, "[8]", (FLOAT, (8,)), None), 128, 288, "fp32"),
    (
        "aten::cudnn_batch_norm",
        ((HALF, (2, 4, 3, 3)), (FLOAT, (4,)), (FLOAT, (4,)), None, None, "True"),
        7 * 72,
        2 * 72 * 2 + 2 * 16,
        "fp16",
    ),
    ("aten::native_group_norm", ((FLOAT, (2, 4, 9)), None, None, "2"), 360, 576, "fp32"),
    # input and residual are read and written: 4*32 and 8 weights, 2 bytes each
    (
        "_C::fused_add_rms_norm",
        ((BF16, (4, 8)), (BF16, (4, 8)), (BF16, (8,)), "1e-6"),
        160,
        272,
        "bf16",
    ),
    # output, input, residual before and after, weights
    (
        "aiter::add_rmsnorm",
        ((BF16, (4, 8)), (BF16, (4, 8)), (BF16, (4, 8)), (BF16, (4, 8)), (BF16, (8,)), "1e-6"),
        160,
        272,
        "bf16",
    ),
    ("aten::_softmax", (X, "-1", "False"), 160, 256, "fp32"),
    # unary: one operation, read and written
    ("aten::silu", ((BF16, (4, 8)),), 32, 128, "bf16"),
    # 4x8 and 8: 32 results; 32 + 8 + 32 elements
    ("aten::add", (X, (FLOAT, (8,)), "1"), 32, 288, "fp32"),
    # an expanded operand has 8 elements in memory, whatever it shows
    ("aten::mul", (X, (FLOAT, (4, 8), (0, 1))), 32, 288, "fp32"),
    # a number that is no tensor with sizes does not widen the result
    ("aten::mul", ((BF16, (4, 8)), (DOUBLE, ())), 32, 2 * 64 + 8, "bf16"),
    # in place: the target's type
    ("aten::add_", ((BF16, (4, 8)), X, "1"), 32, 64 + 128 + 64, "bf16"),
    # comparisons write one byte
    ("aten::gt", (X, "0"), 32, 160, "fp32"),
    # a condition, two choices and the result
    ("aten::where", ((BOOL, (4, 8)), X, X), 32, 32 + 3 * 128, "fp32"),
    # a cast: 4 bytes read, 2 written, no arithmetic
    ("aten::copy_", ((BF16, (4, 8)), X, "False"), 0, 192, "bf16"),
    ("aten::fill_", (X, "0"), 0, 128, "fp32"),
    ("aten::native_dropout", (X, "0.1", "True"), 64, 288, "fp32"),
    # output of 8, input of twice 8; two operations for each output
    ("_C::silu_and_mul", ((BF16, (4, 8)), (BF16, (4, 16))), 64, 192, "bf16"),
    (
        "_C::dynamic_per_token_scaled_fp8_quant",
        ((FP8, (4, 8)), (BF16, (4, 8)), (FLOAT, (4, 1)), None),
        32,
        32 + 64 + 16,
        "fp8",
    ),
    # q and k are turned in place; positions and the table are read
    (
        "_C::rotary_embedding",
        ((INT64, (4,)), (BF16, (4, 8)), (BF16, (4, 2)), "2", (BF16, (100, 2)), "True"),
        96,
        32 + 2 * (64 + 16) + 400,
        "bf16",
    ),
    # new keys and values are read and written
    (
        "_C_cache_ops::reshape_and_cache_flash",
        ((BF16, (4, 2, 8)), (BF16, (4, 2, 8)), (BF16, (99, 16, 2, 8)), (BF16, (99, 16, 2, 8))),
        0,
        512,
        "bf16",
    ),
    # rows of 8 remain as 4 sums
    ("aten::sum", (X, "[1]", "False", None), 32, 144, "fp32"),
    ("aten::mean", (X, None, "False", None), 32, 132, "fp32"),
    # value and place of each row
    ("aten::max", (X, "-1", "False"), 32, 128 + 16 + 32, "fp32"),
    ("aten::argmax", (X, "-1", "False"), 32, 128 + 32, "fp32"),
    ("aten::linalg_vector_norm", (X, "2", "[-1]", "True", None), 64, 144, "fp32"),
    ("aten::cumsum", (X, "1"), 32, 256, "fp32"),
    # 5 rows of 8: read and written, and 5 indices of 8 bytes
    ("aten::embedding", ((BF16, (100, 8)), (INT64, (5,)), "-1"), 0, 40 + 160, "bf16"),
    ("aten::index_select", ((BF16, (100, 8)), "0", (INT64, (5,))), 0, 200, "bf16"),
    ("aten::gather", (X, "1", (INT64, (4, 2))), 0, 64 + 2 * 32, "fp32"),
    # 6 rows of 8 added up in 2 bags
    (
        "aten::_embedding_bag",
        ((FLOAT, (100, 8)), (INT64, (6,)), (INT64, (2,))),
        48,
        48 + 16 + 192 + 64,
        "fp32",
    ),
]


@pytest.mark.parametrize(
    ("operator", "given", "flops", "moved_bytes", "data_type"),
    [
        pytest.param(*case, id=f"{number} {case[0]}")
        for number, case in enumerate([*PRODUCTS, *CONVOLUTIONS, *ATTENTIONS, *MIXTURES, *MEMORY])
    ],
)
def test_the_work_is_what_a_hand_computes(
    operator: str, given: tuple[Given, ...], flops: int, moved_bytes: int, data_type: str
) -> None:
    work = work_of(operator, *given)

    assert work is not None
    assert (work.flops, work.bytes, work.data_type) == (flops, moved_bytes, data_type)


UNKNOWN: list[tuple[str, tuple[Given, ...]]] = [
    ("aten::mm", ((BF16, (64, 128)), (BF16, (64, 32)))),
    ("aten::mm", ((BF16, (64, 128)),)),
    ("aten::mm", (("c10::complex<float>", (4, 4)), (BF16, (4, 4)))),
    ("aten::mm", ((BF16, (1 << 40, 1 << 40)), (BF16, (1 << 40, 4)))),
    ("aten::bmm", ((HALF, (8, 5, 3)), (HALF, (4, 3, 7)))),
    ("aten::linear", ((BF16, (4,)), (BF16, (4, 4, 4)))),
    ("aten::convolution", (IMAGE, KERNELS, None, "[0, 0]", "[1, 1]", "[1, 1]", "False", "[]", "1")),
    ("aten::convolution", (IMAGE, KERNELS)),
    ("aten::add", (X, (FLOAT, (7,)), "1")),
    ("aten::index_select", ((BF16, (100, 8)), "1", (INT64, (5,)))),
    # whether it is causal is not told
    ("aten::_scaled_dot_product_flash_attention", (Q, K, K, "0.")),
    ("aiter::mha_fwd", (Q, Q, Q, "0.", "1.", "-1")),
    # a window, or sequences of different lengths: the pairs are not known
    ("flash_attn::_flash_attn_forward", (Q, K, K, "0.", "1.", "True", "128", "0")),
    (
        "flash_attn::_flash_attn_varlen_forward",
        (
            (BF16, (14, 2, 4)),
            (BF16, (14, 2, 4)),
            (BF16, (14, 2, 4)),
            (INT32, (4,)),
            (INT32, (4,)),
            "5",
            "5",
            "0.",
            "1.",
            "True",
            "-1",
            "-1",
        ),
    ),
    ("vllm::outplace_fused_experts", ((BF16, (1, 16)), (BF16, (8, 64, 17)), (BF16, (8, 16, 32)))),
]


@pytest.mark.parametrize(("operator", "given"), UNKNOWN)
def test_arguments_that_do_not_suffice_give_no_figure(
    operator: str, given: tuple[Given, ...]
) -> None:
    assert work_of(operator, *given) is None


def test_weights_of_experts_that_nobody_chose_are_not_read() -> None:
    weights = ((BF16, (8, 64, 16)), (BF16, (8, 16, 32)))
    one, many = (
        work_of("vllm::outplace_fused_experts", (BF16, (n, 16)), *weights, None, (INT32, (n, 1)))
        for n in (1, 10_000)
    )

    assert one is not None and many is not None
    assert one.bytes == (64 * 16 + 16 * 32) * 2 + 2 * 16 * 2
    # of 10,000 tokens all experts get some
    assert many.bytes == 8 * (64 * 16 + 16 * 32) * 2 + 2 * 10_000 * 16 * 2


def test_axes_that_were_not_recorded_are_not_guessed() -> None:
    given = recorded(X)
    without_values = Arguments(replace(given, scalars=()))

    assert FORMULAS["aten::sum"](without_values) is None
    assert FORMULAS["aten::_softmax"](without_values) is not None


def test_the_weights_of_the_chosen_experts_tell_how_many_where_their_ids_are_not_recorded() -> None:
    given = ((BF16, (1, 16)), (BF16, (8, 64, 16)), (BF16, (8, 16, 32)), (FLOAT, (1, 2)))

    found = work_of("vllm::rocm_aiter_fused_moe", *given)

    # one token chooses 2 of 8 experts
    assert found is not None
    assert found.flops == 2 * 2 * 16 * (64 + 32)
    # AITER's sorted weights of its third kind of operator are of all places, not of a token's
    sorted_weights = (None, given[0], *given[1:3], None, (FLOAT, (77,)))
    assert work_of("aiter::fmoe", *sorted_weights) is None


@pytest.mark.parametrize(
    ("spelled", "name", "bits"),
    [
        ("BFloat16", "bf16", 16),
        ("Half", "fp16", 16),
        ("Float", "fp32", 32),
        ("torch.float16", "fp16", 16),
        ("torch.float32", "fp32", 32),
    ],
)
def test_types_are_known_as_pytorch_calls_them(spelled: str, name: str, bits: int) -> None:
    found = work_of("aten::mm", (spelled, (64, 128)), (spelled, (128, 32)))

    assert found is not None
    assert (found.data_type, found.bytes) == (name, (64 * 128 + 128 * 32 + 64 * 32) * bits // 8)


def test_lists_are_read_as_lists_or_tuples() -> None:
    shapes = ((FLOAT, (8, 1024, 32, 32)), (FLOAT, (1024, 1, 3, 3)), None)
    lists = ("[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1024")
    tuples = ("(1,1)", "(1,1)", "(1,1)", "False", "(0,0)", "1024")

    found = [work_of("aten::convolution", *shapes, *values) for values in (lists, tuples)]

    # each of 8*1024*32*32 outputs has 9 taps of its own channel
    assert found[0] is not None
    assert found[0].flops == 2 * 8 * 1024 * 32 * 32 * 9
    assert found[1] == found[0]
