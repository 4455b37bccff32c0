"""What a matrix product is for within a layer: QKV, attention out, FFN up, LM head.

The module around a call tells it where modules were recorded (`nn.Module: LlamaMLP_3`), otherwise
the order and sizes of the products around an attention whose heads are known. What neither tells
has no role.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.analyze.work.operator_work import GemmSizes, HeadSizes, OperatorWork, WorkKind

QKV, ONE_OF_QKV, ATTENTION_OUT = "QKV", "Q, K or V", "attention out"
FFN_UP, FFN_GATE_UP, FFN_GATE_OR_UP = "FFN up", "FFN gate+up", "FFN gate or up"
FFN_DOWN, LM_HEAD, MOE, MOE_ROUTER = "FFN down", "LM head", "MoE", "MoE router"

_MOST_MODULES = 5
_FEWEST_WORDS = 8_192
"""A vocabulary has at least so many words."""
_WORDS_TO_HIDDEN = 4
_LAYERS_TO_HEADS = 4
"""A model has at least so many layers for each LM head."""


class Module(NamedTuple):
    """The class of a module, and the row of its call."""

    name: str
    row: int


@dataclass(frozen=True)
class MatrixCall:
    """One call of an operator with matrix work; `modules` are those around it, inner first."""

    row: int
    lane: int
    start_ns: int
    work: OperatorWork
    modules: tuple[Module, ...] = ()

    @property
    def plain(self) -> GemmSizes | None:
        """Its sizes, if it is a product with one matrix of weights."""
        gemm = self.work.gemm
        return gemm if gemm is not None and gemm.batch == 1 else None

    @property
    def is_core(self) -> bool:
        """Whether it relates tokens to one another."""
        gemm = self.work.gemm
        return self.work.kind is WorkKind.ATTENTION or (gemm is not None and gemm.batch > 1)


def roles_of(calls: Sequence[MatrixCall]) -> dict[int, str]:
    """The roles of the calls that have one, by row."""
    in_order = sorted(calls, key=lambda call: (call.lane, call.start_ns, call.row))
    by_module = _by_modules(in_order)
    by_order = _by_order(in_order)
    mixtures = {call.row: MOE for call in calls if call.work.kind is WorkKind.MOE}
    return {**by_order, **by_module, **mixtures}


def tells_roles(work: OperatorWork) -> bool:
    """Whether a call may have a role by this work alone, its own or that of one near it."""
    return work.heads is not None or work.kind is WorkKind.MOE


class _ModuleContents(NamedTuple):
    """By the row of a module's call: when its first core began, and its products' sizes."""

    core_starts: dict[int, int]
    products: dict[int, list[tuple[int, int]]]

    @classmethod
    def of(cls, calls: Iterable[MatrixCall]) -> _ModuleContents:
        """What lies in each module; `calls` are in order of time."""
        found = cls({}, {})
        for call in calls:
            for module in call.modules:
                if call.is_core:
                    found.core_starts.setdefault(module.row, call.start_ns)
                elif call.plain is not None:
                    sizes = (call.plain.k, call.plain.n)
                    found.products.setdefault(module.row, []).append(sizes)
        return found


def _by_modules(calls: Sequence[MatrixCall]) -> dict[int, str]:
    contents = _ModuleContents.of(calls)
    found = {}
    for call in calls:
        if call.plain is not None:
            role = _module_role(call, call.plain, contents)
            if role:
                found[call.row] = role
    return found


_LM_HEAD = re.compile(r"LMHead|LmHead|LogitsProcessor|LMPredictionHead")
_MIXTURE = re.compile(r"MoE|Moe(?![a-z])|Experts")
_ROUTER = re.compile(r"Router|MoEGate|MoeGate")
_FEED_FORWARD = re.compile(r"MLP|Mlp|FeedForward|FFN|Intermediate$|DenseActDense|GatedActDense")
_AFTER_ATTENTION = re.compile(r"SelfOutput$")
_OUTPUT = re.compile(r"Output$")
_ATTENTION = re.compile(r"Attention|Attn")


def _module_role(call: MatrixCall, gemm: GemmSizes, contents: _ModuleContents) -> str:
    for name, row in call.modules[:_MOST_MODULES]:
        if name == "QKVParallelLinear":
            return QKV
        if _LM_HEAD.search(name):
            return LM_HEAD if _is_vocabulary(gemm) else ""
        if _ROUTER.search(name):
            return MOE_ROUTER
        if _MIXTURE.search(name):
            return MOE
        if _AFTER_ATTENTION.search(name):
            return ATTENTION_OUT
        if _FEED_FORWARD.search(name):
            return _feed_forward_role(call.modules[0].name, gemm, contents.products[row])
        if _OUTPUT.search(name):
            return FFN_DOWN if gemm.n < gemm.k else ""
        if _ATTENTION.search(name):
            return _attention_role(call, gemm, contents.core_starts.get(row))
    return ""


def _is_vocabulary(gemm: GemmSizes) -> bool:
    return gemm.n >= _FEWEST_WORDS and gemm.n >= _WORDS_TO_HIDDEN * gemm.k


def _feed_forward_role(layer: str, gemm: GemmSizes, products: list[tuple[int, int]]) -> str:
    """Sharded over GPUs the inner size may be the smaller one: parallel layers say which it is."""
    if layer == "MergedColumnParallelLinear":
        return FFN_GATE_UP
    if layer == "RowParallelLinear":
        return FFN_DOWN
    if gemm.n < gemm.k:
        return FFN_DOWN
    if gemm.n == gemm.k:
        return ""
    if products.count((gemm.k, gemm.n)) == 2:
        return FFN_GATE_OR_UP
    return FFN_GATE_UP if (gemm.n // 2, gemm.k) in products else FFN_UP


def _attention_role(call: MatrixCall, gemm: GemmSizes, core_ns: int | None) -> str:
    if call.modules[0].name == "RowParallelLinear":
        return ATTENTION_OUT
    if core_ns is None:
        return ""
    if call.start_ns > core_ns:
        return ATTENTION_OUT
    return QKV if gemm.n == 3 * gemm.k else ONE_OF_QKV


def _by_order(calls: Sequence[MatrixCall]) -> dict[int, str]:
    """Roles around attentions whose heads are known, thread by thread."""
    found: dict[int, str] = {}
    by_lane: dict[int, list[MatrixCall]] = {}
    for call in calls:
        by_lane.setdefault(call.lane, []).append(call)
    for lane in by_lane.values():
        cores = [place for place, call in enumerate(lane) if call.work.heads is not None]
        bounds = [-1, *cores, len(lane)]
        for number, core in enumerate(cores):
            heads = lane[core].work.heads
            assert heads is not None
            before = lane[bounds[number] + 1 : core]
            after = lane[core + 1 : bounds[number + 2]]
            found |= _before(before, heads)
            found |= _after(after, heads, found, len(cores))
    return found


def _before(calls: Sequence[MatrixCall], heads: HeadSizes) -> dict[int, str]:
    """The product right before an attention, or the three before it."""
    query = heads.query_heads * heads.size
    key = heads.key_heads * heads.size
    plain = [call for call in calls if call.plain is not None]
    last = plain[-1].plain if plain else None
    if last is not None and last.n == query + 2 * key:
        return {plain[-1].row: QKV}
    three = [(call.row, call.plain) for call in plain[-3:] if call.plain is not None]
    widths = [gemm.n for _, gemm in three]
    inputs = {(gemm.m, gemm.k) for _, gemm in three}
    if widths == [query, key, key] and len(inputs) == 1:
        return dict.fromkeys((row for row, _ in three), ONE_OF_QKV)
    return {}


def _after(
    calls: Sequence[MatrixCall], heads: HeadSizes, known: Mapping[int, str], layers: int
) -> dict[int, str]:
    """The products after an attention: its own output, then the feed-forward part."""
    plain = [(call.row, call.plain) for call in calls if call.plain is not None]
    if not plain or plain[0][1].k != heads.query_heads * heads.size:
        return {}
    found = {plain[0][0]: ATTENTION_OUT}
    hidden = plain[0][1].n
    found |= _feed_forward(plain[1:4], hidden)
    row, last = plain[-1]
    is_last = row not in known and row not in found and last.k == hidden
    if is_last and _is_vocabulary(last) and layers >= _LAYERS_TO_HEADS:
        found[row] = LM_HEAD
    return found


def _feed_forward(plain: Sequence[tuple[int, GemmSizes]], hidden: int) -> dict[int, str]:
    """Hidden to inner size and back: in two products, or with a gate apart in three."""
    rows = [row for row, _ in plain]
    sizes = [(gemm.k, gemm.n) for _, gemm in plain]
    if len(sizes) >= 2:
        (first_k, first_n), (second_k, second_n) = sizes[:2]
        if first_k == hidden == second_n and first_n == 2 * second_k:
            return {rows[0]: FFN_GATE_UP, rows[1]: FFN_DOWN}
        if first_k == hidden == second_n and first_n == second_k and first_n > hidden:
            return {rows[0]: FFN_UP, rows[1]: FFN_DOWN}
    gate, up, down = sizes if len(sizes) == 3 else ((), (), ())
    if gate and gate == up == down[::-1] and gate[0] == hidden < gate[1]:
        return {rows[0]: FFN_GATE_OR_UP, rows[1]: FFN_GATE_OR_UP, rows[2]: FFN_DOWN}
    return {}
