"""A small language model with random weights, as a GGUF file that llama.cpp loads.

It answers nonsense, but every layer, kernel and copy of a real model of its kind is there.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"GGUF"
_VERSION = 3
_ALIGNMENT = 32
_BYTE_TOKENS = 256
_SPECIAL_TOKENS = ("<unk>", "<s>", "</s>")
_SPREAD = 0.02  # of random weights, as in freshly initialized models
_BLOCK_WEIGHTS = 32  # of q4_0: one scale for 32 weights of 4 bits


class WeightType(enum.Enum):
    """How weights are stored: GGUF's number of the type, and the bytes of 32 weights."""

    F16 = (1, 64)
    Q4_0 = (2, 18)

    @property
    def number(self) -> int:
        return self.value[0]

    def bytes_of(self, weight_count: int) -> int:
        return weight_count // _BLOCK_WEIGHTS * self.value[1]


_F32 = 0


@dataclass(frozen=True)
class TinyModel:
    """The shape of a model of the llama family."""

    layers: int = 4
    width: int = 512
    heads: int = 8
    key_heads: int = 4
    hidden: int = 1408
    vocabulary: int = 2048
    weights: WeightType = WeightType.F16
    seed: int = 1


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    """Rows first, as in NumPy; vectors of norms are always stored as 32 bit floats."""

    @property
    def is_norm(self) -> bool:
        return len(self.shape) == 1

    @property
    def weight_count(self) -> int:
        return int(np.prod(self.shape))

    def type_number(self, weights: WeightType) -> int:
        return _F32 if self.is_norm else weights.number

    def byte_count(self, weights: WeightType) -> int:
        return 4 * self.weight_count if self.is_norm else weights.bytes_of(self.weight_count)


def write_tiny_model(path: Path, model: TinyModel) -> None:
    """Write the model to `path`; equal models give equal files."""
    tensors = list(_tensors(model))
    with path.open("xb") as file:
        facts = list(_facts(model))
        file.write(_MAGIC + struct.pack("<IQQ", _VERSION, len(tensors), len(facts)))
        file.writelines(facts)
        file.writelines(_tensor_table(tensors, model.weights))
        _pad(file)
        random = np.random.default_rng(model.seed)
        for tensor in tensors:
            file.write(_weights(tensor, model.weights, random))
            _pad(file)


def _tensors(model: TinyModel) -> Iterator[_Tensor]:
    width, key_width = model.width, model.width * model.key_heads // model.heads
    yield _Tensor("token_embd.weight", (model.vocabulary, width))
    yield _Tensor("output_norm.weight", (width,))
    yield _Tensor("output.weight", (model.vocabulary, width))
    in_layer = {
        "attn_norm": (width,),
        "ffn_norm": (width,),
        "attn_q": (width, width),
        "attn_k": (key_width, width),
        "attn_v": (key_width, width),
        "attn_output": (width, width),
        "ffn_gate": (model.hidden, width),
        "ffn_up": (model.hidden, width),
        "ffn_down": (width, model.hidden),
    }
    for layer in range(model.layers):
        for name, shape in in_layer.items():
            yield _Tensor(f"blk.{layer}.{name}.weight", shape)


def _tensor_table(tensors: Sequence[_Tensor], weights: WeightType) -> Iterator[bytes]:
    offset = 0
    for tensor in tensors:
        dimensions = tensor.shape[::-1]  # GGUF names the fastest one first
        yield _text(tensor.name)
        yield struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
        yield struct.pack("<IQ", tensor.type_number(weights), offset)
        offset += -(-tensor.byte_count(weights) // _ALIGNMENT) * _ALIGNMENT


def _weights(tensor: _Tensor, weights: WeightType, random: np.random.Generator) -> bytes:
    if tensor.is_norm or weights is WeightType.F16:
        kind = np.float32 if tensor.is_norm else np.float16
        return random.normal(0, _SPREAD, tensor.shape).astype(kind).tobytes()
    blocks: NDArray[np.uint8] = random.integers(
        0, 256, (tensor.weight_count // _BLOCK_WEIGHTS, weights.value[1]), dtype=np.uint8
    )
    scale = np.array([_SPREAD / 4], dtype="<f2")  # 4 bits span -8 to 7
    blocks[:, :2] = scale.view(np.uint8)
    return blocks.tobytes()


def _facts(model: TinyModel) -> Iterator[bytes]:
    """What llama.cpp has to know of a model, one entry each."""
    yield _fact("general.architecture", "llama")
    yield _fact("general.name", "wavescope tiny")
    numbers = {
        "context_length": 2048,
        "embedding_length": model.width,
        "block_count": model.layers,
        "feed_forward_length": model.hidden,
        "attention.head_count": model.heads,
        "attention.head_count_kv": model.key_heads,
        "rope.dimension_count": model.width // model.heads,
        "vocab_size": model.vocabulary,
    }
    for name, number in numbers.items():
        yield _fact(f"llama.{name}", number)
    yield _fact("llama.attention.layer_norm_rms_epsilon", 1e-5)
    yield from _tokenizer_facts(model.vocabulary)


def _tokenizer_facts(vocabulary: int) -> Iterator[bytes]:
    unknown, control, byte, normal = 2, 3, 6, 1
    bytes_as_text = [f"<0x{value:02X}>" for value in range(_BYTE_TOKENS)]
    word_count = vocabulary - len(_SPECIAL_TOKENS) - _BYTE_TOKENS
    words = [f"\u2581w{index}" for index in range(word_count)]
    kinds = [unknown, control, control, *[byte] * _BYTE_TOKENS, *[normal] * word_count]
    yield _fact("tokenizer.ggml.model", "llama")
    yield _list_fact(
        "tokenizer.ggml.tokens", 8, map(_text, (*_SPECIAL_TOKENS, *bytes_as_text, *words))
    )
    yield _list_fact("tokenizer.ggml.scores", 6, [struct.pack("<f", 0.0)] * vocabulary)
    yield _list_fact("tokenizer.ggml.token_type", 5, (struct.pack("<i", kind) for kind in kinds))
    yield _fact("tokenizer.ggml.unknown_token_id", 0)
    yield _fact("tokenizer.ggml.bos_token_id", 1)
    yield _fact("tokenizer.ggml.eos_token_id", 2)


def _fact(name: str, value: str | int | float) -> bytes:
    if isinstance(value, str):
        return _text(name) + struct.pack("<I", 8) + _text(value)
    kind, layout = (4, "<II") if isinstance(value, int) else (6, "<If")
    return _text(name) + struct.pack(layout, kind, value)


def _list_fact(name: str, kind: int, values: Iterator[bytes] | Sequence[bytes]) -> bytes:
    items = list(values)
    return _text(name) + struct.pack("<IIQ", 9, kind, len(items)) + b"".join(items)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _pad(file: BinaryIO) -> None:
    file.write(bytes(-file.tell() % _ALIGNMENT))
