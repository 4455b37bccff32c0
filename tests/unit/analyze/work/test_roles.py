"""What matrix products are for: by modules, and by order and sizes."""

from __future__ import annotations

from tests.unit.analyze.work.inputs import BF16, Given
from tests.unit.analyze.work.traces import US, OperatorTrace
from wavescope.analyze.work import work_result

HIDDEN, INNER, TOKENS = 64, 256, 8


def product(n: int, k: int) -> tuple[Given, ...]:
    return (BF16, (TOKENS, k)), (BF16, (k, n))


def mm(made: OperatorTrace, n: int, k: int) -> OperatorTrace:
    return made.operator("aten::mm", *product(n, k), kernels={"gemm": 10 * US})


def attention(made: OperatorTrace, heads: int, key_heads: int, size: int) -> OperatorTrace:
    q = (BF16, (1, heads, TOKENS, size))
    k = (BF16, (1, key_heads, TOKENS, size))
    name = "aten::_scaled_dot_product_flash_attention"
    return made.operator(name, q, k, k, "0.", "True", kernels={"flash": 10 * US})


def roles(made: OperatorTrace) -> dict[str, str | None]:
    """By shape and role; one call of each."""
    rows = work_result(made.maker.build()).table("work").records()
    return {
        f"{row['shape']} {row['calls']}": None if row["role"] is None else str(row["role"])
        for row in rows
        if row["operator"] == "aten::mm"
    }


def layer(made: OperatorTrace, *, fused: bool) -> None:
    if fused:
        mm(made, (4 + 2 * 2) * 16, HIDDEN)
    else:
        for n in (64, 32, 32):
            mm(made, n, HIDDEN)
    attention(made, 4, 2, 16)
    mm(made, HIDDEN, 64)
    if fused:
        mm(made, 2 * INNER, HIDDEN)
    else:
        mm(made, INNER, HIDDEN)
        mm(made, INNER, HIDDEN)
    mm(made, HIDDEN, INNER)


def test_fused_projections_are_told_by_their_order_and_sizes() -> None:
    made = OperatorTrace()
    for _ in range(4):
        layer(made, fused=True)
    mm(made, 32_000, HIDDEN)

    assert roles(made) == {
        "8x128x64 4": "QKV",
        "8x64x64 4": "attention out",
        "8x512x64 4": "FFN gate+up",
        "8x64x256 4": "FFN down",
        "8x32000x64 1": "LM head",
    }


def test_separate_projections_too() -> None:
    made = OperatorTrace()
    layer(made, fused=False)

    rows = work_result(made.maker.build()).table("work").records()
    found = sorted(
        (str(row["shape"]), str(row["role"]), row["calls"])
        for row in rows
        if row["operator"] == "aten::mm"
    )

    assert found == [
        ("8x256x64", "FFN gate or up", 2),
        ("8x32x64", "Q, K or V", 2),
        ("8x64x256", "FFN down", 1),
        ("8x64x64", "Q, K or V", 1),
        ("8x64x64", "attention out", 1),
    ]


def test_products_without_an_attention_have_no_role() -> None:
    made = OperatorTrace()
    for n, k in ((192, 64), (64, 64), (256, 64), (64, 256), (32_000, 64)):
        mm(made, n, k)

    assert set(roles(made).values()) == {None}


def test_one_wide_product_after_few_layers_is_no_lm_head() -> None:
    made = OperatorTrace()
    layer(made, fused=True)
    mm(made, 32_000, HIDDEN)

    assert roles(made)["8x32000x64 1"] is None


def module(name: str) -> tuple[str, str]:
    return f"nn.Module: {name}", "python_function"


def test_modules_tell_the_roles() -> None:
    made = OperatorTrace()
    for n, name in ((64, "Linear_0"), (64, "Linear_1"), (64, "Linear_2")):
        mm(made, n, HIDDEN).inside(module(name), of=1)
    made.operator("aten::bmm", (BF16, (4, 8, 16)), (BF16, (4, 16, 8)), kernels={"scores": 10 * US})
    mm(made, HIDDEN, 64).inside(module("Linear_3"), of=1)
    made.inside(module("GPT2Layer_0"), module("OwlAttention_0"), of=5)
    mm(made, INNER, HIDDEN)
    mm(made, HIDDEN, INNER)
    made.inside(module("OwlMLP_0"), of=2)
    mm(made, 32_000, HIDDEN).inside(module("LogitsProcessor_0"), of=1)
    mm(made, 96, HIDDEN).inside(module("Classifier_0"), of=1)

    rows = work_result(made.maker.build()).table("work").records()
    found = {
        (str(row["shape"]), row["role"]): row["calls"]
        for row in rows
        if row["operator"] == "aten::mm"
    }

    assert found == {
        ("8x64x64", "Q, K or V"): 3,
        ("8x64x64", "attention out"): 1,
        ("8x256x64", "FFN up"): 1,
        ("8x64x256", "FFN down"): 1,
        ("8x32000x64", "LM head"): 1,
        ("8x96x64", None): 1,
    }


def test_parallel_layers_tell_what_sharded_sizes_do_not() -> None:
    made = OperatorTrace()
    mm(made, 48, HIDDEN).inside(module("QKVParallelLinear_7"), of=1)
    mm(made, HIDDEN, 16).inside(module("LlamaAttention_7"), module("RowParallelLinear_9"), of=1)
    mm(made, 40, HIDDEN).inside(module("LlamaMLP_7"), module("MergedColumnParallelLinear_7"), of=1)
    mm(made, HIDDEN, 20).inside(module("LlamaMLP_7"), module("RowParallelLinear_8"), of=1)

    assert roles(made) == {
        "8x48x64 1": "QKV",
        "8x64x16 1": "attention out",
        "8x40x64 1": "FFN gate+up",
        "8x64x20 1": "FFN down",
    }
