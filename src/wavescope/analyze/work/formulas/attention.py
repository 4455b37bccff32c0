"""Attention: two products for each pair of a query and a key that it may see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from wavescope.analyze.work.arguments import Arguments, Tensor, bytes_of
from wavescope.analyze.work.operator_work import Formula, HeadSizes, OperatorWork, WorkKind


class _Layout(NamedTuple):
    """Where the arguments are. `causal` is the flag, or the number of a mask's kind.

    With `lengths`, tokens of all sequences lie one after the other: [tokens, heads, size], and
    the positions are those of the sequences' bounds and the longest query and key length.
    """

    causal: int
    q: int = 0
    heads_first: bool = False
    """[batch, heads, tokens, size] instead of [batch, tokens, heads, size]."""
    bounds: int | None = None
    longest_query: int | None = None
    longest_key: int | None = None
    window: int | None = None
    """How far back a query sees; only an unlimited one is counted."""
    is_backward: bool = False
    mask: int | None = None


class _Sizes(NamedTuple):
    sequences: int
    query_tokens: int
    key_tokens: int
    heads: HeadSizes
    value_size: int


def _attention(layout: _Layout) -> Formula:
    def formula(given: Arguments) -> OperatorWork | None:
        q, k, v = (given.tensor(layout.q + place) for place in range(3))
        if q is None or k is None or v is None or _is_windowed(given, layout):
            return None
        sizes, is_causal = _sizes(given, layout, q, k, v), _is_causal(given, layout.causal)
        if sizes is None or is_causal is None:
            return None
        mask = None if layout.mask is None else given.tensor(layout.mask)
        return _work(layout, q, sizes, is_causal, bytes_of([mask]))

    return formula


def _work(
    layout: _Layout, q: Tensor, sizes: _Sizes, is_causal: bool, mask_bytes: int
) -> OperatorWork:
    sequences, queries, keys, heads, value_size = sizes
    pairs = sequences * heads.query_heads * visible_pairs(queries, keys, is_causal)
    # Forward: scores and values. Backward: scores again, and gradients of v, of the
    # probabilities, of q and of k.
    products = 3 * heads.size + 2 * value_size if layout.is_backward else heads.size + value_size
    per_query = heads.query_heads * (heads.size + value_size)
    per_key = heads.key_heads * (heads.size + value_size)
    elements = sequences * (queries * per_query + keys * per_key)
    if layout.is_backward:
        # Gradients of q, k and v are written; q, k, v, the output and its gradient are read.
        elements = 2 * elements + sequences * queries * heads.query_heads * value_size
    moved = elements * q.data_type.bits // 8 + mask_bytes
    return OperatorWork(
        WorkKind.ATTENTION,
        2 * pairs * products,
        moved,
        q.data_type.name,
        f"{sequences}x {queries} by {keys}, {heads.query_heads}/{heads.key_heads} heads of "
        f"{heads.size}{', causal' if is_causal else ''}",
        heads=heads,
    )


def visible_pairs(queries: int, keys: int, is_causal: bool) -> int:
    """How many pairs of a query and a key count; the last query sees all keys.

    With more queries than keys the first ones see none.
    """
    if not is_causal:
        return queries * keys
    seeing = min(queries, keys)
    return seeing * keys - seeing * (seeing - 1) // 2


def _is_causal(given: Arguments, place: int) -> bool | None:
    """As the flag or the kind of mask says; None where neither is there."""
    kind = given.number(place)
    if kind is None:
        return given.flag(place)
    return {0: False, 1: True, 2: True}.get(kind)


def _is_windowed(given: Arguments, layout: _Layout) -> bool:
    limit = None if layout.window is None else given.number(layout.window)
    return limit is not None and limit >= 0


def _sizes(given: Arguments, layout: _Layout, q: Tensor, k: Tensor, v: Tensor) -> _Sizes | None:
    has_bounds = layout.bounds is not None and given.tensor(layout.bounds) is not None
    if has_bounds:
        return _packed_sizes(given, layout, q, k, v) if len(q.dims) == 3 else None
    if not len(q.dims) == len(k.dims) == len(v.dims) == 4 or q.dims[0] != k.dims[0]:
        return None
    token_axis, head_axis = (2, 1) if layout.heads_first else (1, 2)
    heads = HeadSizes(q.dims[head_axis], k.dims[head_axis], q.dims[3])
    if k.dims[3] != heads.size or not _divides(heads):
        return None
    return _Sizes(q.dims[0], q.dims[token_axis], k.dims[token_axis], heads, v.dims[3])


def _packed_sizes(
    given: Arguments, layout: _Layout, q: Tensor, k: Tensor, v: Tensor
) -> _Sizes | None:
    """Sequences one after the other: their lengths are known only where all are the longest."""
    assert layout.bounds is not None
    bounds = given.tensor(layout.bounds)
    longest_query = None if layout.longest_query is None else given.number(layout.longest_query)
    longest_key = None if layout.longest_key is None else given.number(layout.longest_key)
    if bounds is None or len(bounds.dims) != 1 or len(k.dims) != 3 or len(v.dims) != 3:
        return None
    sequences = bounds.dims[0] - 1
    heads = HeadSizes(q.dims[1], k.dims[1], q.dims[2])
    if not longest_query or not longest_key or not _divides(heads) or k.dims[2] != heads.size:
        return None
    if q.dims[0] != sequences * longest_query:
        return None
    # Keys may lie in pages of a cache; sequences that begin here have as many as queries.
    if k.dims[0] != sequences * longest_key and longest_key != longest_query:
        return None
    return _Sizes(sequences, longest_query, longest_key, heads, v.dims[2])


def _divides(heads: HeadSizes) -> bool:
    return heads.key_heads > 0 and heads.query_heads % heads.key_heads == 0


_PACKED = _Layout(causal=9, bounds=3, longest_query=5, longest_key=6)
"""q, k, v, bounds of queries, bounds of keys, longest query, longest key."""

_LAYOUTS = {
    "aten::scaled_dot_product_attention": _Layout(causal=5, heads_first=True, mask=3),
    "aten::_scaled_dot_product_flash_attention": _Layout(causal=4, heads_first=True),
    "aten::_scaled_dot_product_efficient_attention": _Layout(causal=6, heads_first=True, mask=3),
    "aten::_scaled_dot_product_cudnn_attention": _Layout(causal=6, heads_first=True, mask=3),
    "aten::_scaled_dot_product_flash_attention_backward": _Layout(
        q=1, causal=11, heads_first=True, is_backward=True
    ),
    "aten::_scaled_dot_product_efficient_attention_backward": _Layout(
        q=1, causal=11, heads_first=True, is_backward=True, mask=4
    ),
    "aten::_scaled_dot_product_cudnn_attention_backward": _Layout(
        q=1, causal=14, heads_first=True, is_backward=True, mask=8
    ),
    "aten::_flash_attention_forward": _PACKED._replace(causal=8, window=11),
    "aten::_flash_attention_backward": _Layout(
        q=1, causal=11, bounds=6, longest_query=8, longest_key=9, window=15, is_backward=True
    ),
    "aten::_efficient_attention_forward": _Layout(causal=9, bounds=4, mask=3),
    "flash_attn::_flash_attn_forward": _Layout(causal=5, window=6),
    "flash_attn::_flash_attn_backward": _Layout(q=1, causal=11, window=12, is_backward=True),
    "flash_attn::_flash_attn_varlen_forward": _PACKED._replace(causal=9, window=10),
    "flash_attn::_flash_attn_varlen_backward": _Layout(
        q=1, causal=15, bounds=9, longest_query=11, longest_key=12, window=16, is_backward=True
    ),
    "aiter::mha_fwd": _Layout(causal=5, window=6),
    "aiter::fmha_v3_fwd": _Layout(causal=5, window=6),
    "aiter::mha_bwd": _Layout(q=1, causal=8, window=9, is_backward=True),
    "aiter::fmha_v3_bwd": _Layout(q=1, causal=8, window=9, is_backward=True),
    "aiter::mha_varlen_fwd": _PACKED._replace(causal=12, window=13),
    "aiter::fmha_v3_varlen_fwd": _PACKED._replace(causal=12, window=13),
    "aiter::mha_batch_prefill": _Layout(
        causal=12, window=13, bounds=3, longest_query=6, longest_key=7
    ),
}

ATTENTION_FORMULAS: Mapping[str, Formula] = {
    name: _attention(layout) for name, layout in _LAYOUTS.items()
}
