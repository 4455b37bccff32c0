"""Whether what repeats is one layer of a transformer, by the names of its kernels.

Layers of one pass and passes of a model with one layer look alike. Models have more than one, so
that a recording of some layers and nothing else tells no steps.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.names.kernel_names import ATTENTION, meaning_of

MOST_SEPARATE = 2
"""A layer has at most so many attentions of several kernels: over time and over space, or of itself
and of an encoder."""
FEWEST_PRODUCTS = 2
"""Of a layer, beside those within its attention: projections, the feed-forward part."""


class LayerPart(enum.IntEnum):
    """What a kernel is in a layer."""

    OTHER = 0
    ATTENTION = 1
    NORMALIZATION = 2
    PRODUCT = 3
    SOFTMAX = 4
    BETWEEN = 5
    """What may lie between the products and the softmax of an attention."""


_PARTS = {
    ATTENTION: LayerPart.ATTENTION,
    "normalization": LayerPart.NORMALIZATION,
    "GEMM": LayerPart.PRODUCT,
    "MoE": LayerPart.PRODUCT,
    "softmax": LayerPart.SOFTMAX,
    "elementwise": LayerPart.BETWEEN,
    "copy/fill": LayerPart.BETWEEN,
}

Parts = npt.NDArray[np.int8]


def layer_parts(texts: Sequence[str], wanted: npt.NDArray[np.bool_]) -> Parts:
    """The `LayerPart` of each of the names that are wanted, OTHER for the others."""
    parts = np.full(len(texts), LayerPart.OTHER, np.int8)
    for label in np.flatnonzero(wanted).tolist():
        parts[label] = _PARTS.get(meaning_of(texts[label]).category, LayerPart.OTHER)
    return parts


def attention_kernels(parts: Parts) -> npt.NDArray[np.int16]:
    """For each label which attention kernel it is (0, 1, ...), -1 for others."""
    is_attention = parts == LayerPart.ATTENTION
    numbers = np.where(is_attention, np.cumsum(is_attention) - 1, -1)
    return numbers.astype(np.int16)


def is_a_layer(parts: Parts, labels: Array) -> bool:
    """Whether ops with these labels in this order are one layer: a normalization, an attention and
    further products. `parts` are those of all labels."""
    here = parts[labels]
    separate = _separate_attentions(here)
    fused = np.bincount(labels[here == LayerPart.ATTENTION])
    if not 0 < max(int(fused.max(initial=0)), separate) <= (MOST_SEPARATE if separate else 1):
        return False
    products = int((here == LayerPart.PRODUCT).sum())
    has_norm = bool((here == LayerPart.NORMALIZATION).any())
    return has_norm and products - 2 * separate >= FEWEST_PRODUCTS


def _separate_attentions(parts: Array) -> int:
    """How often a softmax lies between two products: attention in several kernels."""
    steps = parts[parts != LayerPart.BETWEEN]
    is_product = steps == LayerPart.PRODUCT
    inner = steps[1:-1] == LayerPart.SOFTMAX
    return int((is_product[:-2] & inner & is_product[2:]).sum())
