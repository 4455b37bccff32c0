"""Mixtures of experts: each token passes the gate, up and down products of its chosen experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.analyze.work.arguments import Arguments, Tensor, bytes_of
from wavescope.analyze.work.formulas.gemm import wider
from wavescope.analyze.work.operator_work import Formula, OperatorWork, WorkKind


class _Layout(NamedTuple):
    """Where hidden states [T, H], both weights and the choice of experts are.

    The choice is a tensor [T, k], or the number k itself. Where it is not recorded, the weights of
    the chosen experts, [T, k] too, tell as much.
    """

    hidden: int
    first: int
    second: int
    chosen: int
    chosen_weights: int | None = None


@dataclass(frozen=True)
class _Experts:
    """How many tokens choose how many experts, and what size these have."""

    tokens: int
    chosen: int
    count: int
    hidden: int
    first_rows: int
    """Of the first weights: twice the inner size where a gate goes with them."""
    inner: int

    def __str__(self) -> str:
        return f"{self.tokens} tokens, {self.chosen} of {self.count} experts,"

    @property
    def used(self) -> float:
        """How many experts some token chose, if all are chosen equally often."""
        missed = (1 - min(1.0, self.chosen / self.count)) ** self.tokens
        return self.count * (1 - missed)


def _fused(layout: _Layout) -> Formula:
    def formula(given: Arguments) -> OperatorWork | None:
        x = given.tensor(layout.hidden)
        first, second = given.tensor(layout.first), given.tensor(layout.second)
        chosen = _chosen(given, layout)
        if x is None or first is None or second is None or not chosen:
            return None
        experts = _experts(x, first, second, chosen)
        return None if experts is None else _work(x, first, second, experts)

    return formula


def _chosen(given: Arguments, layout: _Layout) -> int | None:
    """How many experts each token chooses."""
    number, choice = given.number(layout.chosen), given.tensor(layout.chosen)
    if number is None and choice is None and layout.chosen_weights is not None:
        choice = given.tensor(layout.chosen_weights)
    return choice.dims[-1] if choice and choice.dims else number


def _experts(x: Tensor, first: Tensor, second: Tensor, chosen: int) -> _Experts | None:
    """The sizes, if they fit together; 4-bit weights have two elements in each stored one."""
    if len(x.dims) != 2 or len(first.dims) != 3 or len(second.dims) != 3:
        return None
    (tokens, hidden), (count, first_rows, first_columns) = x.dims, first.dims
    other_count, second_rows, second_columns = second.dims
    packed = 2 if first_columns * 2 == hidden else 1
    inner = second_columns * packed
    fits = first_columns * packed == hidden == second_rows and count == other_count
    if not fits or first_rows not in (inner, 2 * inner) or not 0 < chosen <= count:
        return None
    return _Experts(tokens, chosen, count, hidden, first_rows, inner)


def _work(x: Tensor, first: Tensor, second: Tensor, experts: _Experts) -> OperatorWork:
    inner, first_rows = experts.inner, experts.first_rows
    flops = 2 * experts.tokens * experts.chosen * experts.hidden * (first_rows + inner)
    weights = bytes_of([first, second]) * experts.used / experts.count
    kind = "gate, up and down" if first_rows == 2 * inner else "up and down"
    return OperatorWork(
        WorkKind.MOE,
        flops,
        round(weights) + 2 * x.bytes,
        wider(x.data_type, first.data_type).name,
        f"{experts} {experts.hidden} to {inner} ({kind})",
    )


def _first_stage(given: Arguments) -> OperatorWork | None:
    """Hidden states [T, H] by [E, R, H]; the output is [T, k, ...]."""
    x, weights, output = given.tensor(0), given.tensor(1), given.tensor(6)
    if x is None or weights is None or output is None or len(output.dims) != 3:
        return None
    return _stage(x, weights, output, chosen=output.dims[1])


def _second_stage(given: Arguments) -> OperatorWork | None:
    """Inner states [T, k, I] by [E, H, I]; the output is [T, H]."""
    x, weights, output = given.tensor(0), given.tensor(2), given.tensor(6)
    if x is None or weights is None or output is None or len(x.dims) != 3:
        return None
    return _stage(x, weights, output, chosen=x.dims[1])


def _stage(x: Tensor, weights: Tensor, output: Tensor, chosen: int) -> OperatorWork | None:
    """The products of all chosen experts' weights with what their tokens have."""
    if len(x.dims) < 2 or len(weights.dims) != 3:
        return None
    tokens, depth = x.dims[0], x.dims[-1]
    count, rows, columns = weights.dims
    packed = 2 if columns * 2 == depth else 1
    if columns * packed != depth or not 0 < chosen <= count:
        return None
    experts = _Experts(tokens, chosen, count, depth, rows, rows)
    moved = round(weights.bytes * experts.used / count) + bytes_of([x, output])
    return OperatorWork(
        WorkKind.MOE,
        2 * tokens * chosen * rows * depth,
        moved,
        wider(x.data_type, weights.data_type).name,
        f"{experts} {depth} to {rows}",
    )


MIXTURE_FORMULAS: Mapping[str, Formula] = {
    **dict.fromkeys(
        (
            "vllm::inplace_fused_experts",
            "vllm::outplace_fused_experts",
            "sglang::inplace_fused_experts",
            "sglang::outplace_fused_experts",
            "vllm::rocm_aiter_fused_moe",
            "aiter::fused_moe_",
        ),
        _fused(_Layout(0, 1, 2, chosen=4, chosen_weights=3)),
    ),
    **dict.fromkeys(
        (
            "aiter::fmoe",
            "aiter::fmoe_g1u1",
            "aiter::fmoe_int8_g1u0",
            "aiter::fmoe_fp8_blockscale_g1u1",
        ),
        _fused(_Layout(1, 2, 3, chosen=8)),
    ),
    "aiter::ck_moe_stage1": _first_stage,
    "aiter::ck_moe_stage2": _second_stage,
}
