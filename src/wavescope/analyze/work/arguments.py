"""The recorded arguments of an operator as tensors with sizes in bytes, numbers and flags."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeGuard

from wavescope.analyze.calls.call_inputs import RecordedInputs

Dims = tuple[int, ...]

_MOST_ELEMENTS = 1 << 50
"""No GPU holds so many: sizes beyond it are not believed."""


class DataType(NamedTuple):
    """What one element of a tensor is; `packed` elements lie in one stored value."""

    name: str
    bits: int
    is_float: bool = True
    packed: int = 1


FP64, FP32 = DataType("fp64", 64), DataType("fp32", 32)
FP16, BF16 = DataType("fp16", 16), DataType("bf16", 16)
FP8, FP4 = DataType("fp8", 8), DataType("fp4", 8, packed=2)
INT64, INT32 = DataType("int64", 64, is_float=False), DataType("int32", 32, is_float=False)
INT16, INT8 = DataType("int16", 16, is_float=False), DataType("int8", 8, is_float=False)
UINT8, BOOL = DataType("uint8", 8, is_float=False), DataType("bool", 8, is_float=False)

_TYPES = {
    **dict.fromkeys(("double", "float64"), FP64),
    **dict.fromkeys(("float", "float32"), FP32),
    **dict.fromkeys(("half", "float16"), FP16),
    "bfloat16": BF16,
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"), FP8),
    "float4_e2m1fn_x2": FP4,
    **dict.fromkeys(("long", "long int", "int64_t", "int64"), INT64),
    **dict.fromkeys(("int", "int32"), INT32),
    **dict.fromkeys(("short", "short int", "int16"), INT16),
    **dict.fromkeys(("signed char", "char", "int8"), INT8),
    **dict.fromkeys(("unsigned char", "byte", "uint8"), UINT8),
    "bool": BOOL,
}
"""Types of tensors as PyTorch's profiler writes them (c10::Half), or as PyTorch calls them (Half,
torch.float16); without the namespace, in small letters."""


@dataclass(frozen=True)
class Tensor:
    """One tensor argument."""

    dims: Dims
    data_type: DataType
    strides: Dims = ()

    @cached_property
    def elements(self) -> int:
        """How many it shows; those of axes with stride 0 are shown again and again."""
        return math.prod(self.dims)

    @cached_property
    def stored_elements(self) -> int:
        """How many there are in memory: an expanded axis has one."""
        if len(self.strides) != len(self.dims):
            return self.elements
        return math.prod(
            size for size, stride in zip(self.dims, self.strides, strict=True) if stride or not size
        )

    @property
    def bytes(self) -> int:
        """What reading it moves once."""
        return self.stored_elements * self.data_type.bits // 8

    @property
    def is_believable(self) -> bool:
        return self.elements <= _MOST_ELEMENTS


class Arguments:
    """What an operator was given, by position; what is not there or no tensor is None."""

    def __init__(self, recorded: RecordedInputs) -> None:
        self._recorded = recorded

    def __len__(self) -> int:
        return len(self._recorded.types)

    @property
    def has_values(self) -> bool:
        """Whether numbers, flags and lists were recorded, too: older profilers leave them out."""
        return bool(self._recorded.scalars)

    def tensor(self, index: int) -> Tensor | None:
        """The tensor at a position, if its type is known."""
        recorded = self._recorded
        if not 0 <= index < min(len(recorded.types), len(recorded.dims)):
            return None
        data_type = _data_type(recorded.types[index])
        dims = recorded.dims[index]
        if data_type is None or not _is_one(dims):
            return None
        strides = recorded.strides[index] if index < len(recorded.strides) else ()
        found = Tensor(dims, data_type, strides if _is_one(strides) else ())
        return found if found.is_believable else None

    def tensors(self, indices: Iterable[int] | None = None) -> list[Tensor]:
        """All tensors, or those at some positions."""
        wanted = range(len(self)) if indices is None else indices
        return [found for found in map(self.tensor, wanted) if found is not None]

    def text(self, index: int) -> str:
        """The value of a number, a flag or a list as text, empty where there is none."""
        scalars = self._recorded.scalars
        return scalars[index].strip() if 0 <= index < len(scalars) else ""

    def number(self, index: int) -> int | None:
        """A whole number."""
        text = self.text(index)
        return int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else None

    def flag(self, index: int) -> bool | None:
        """True or False; None where it is not told."""
        return {"True": True, "False": False}.get(self.text(index))

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """A list of whole numbers, written [1, 2] or (1, 2)."""
        text = self.text(index)
        if text[:1] + text[-1:] not in ("[]", "()"):
            return None
        parts = [part.strip() for part in text[1:-1].split(",") if part.strip()]
        if not all(part.lstrip("-").isdecimal() and len(part) < 20 for part in parts):
            return None
        return tuple(int(part) for part in parts)


def _data_type(name: str) -> DataType | None:
    return _TYPES.get(name.removeprefix("c10::").removeprefix("torch.").lower())


def bytes_of(tensors: Iterable[Tensor | None]) -> int:
    """What moving each of them once takes."""
    return sum(tensor.bytes for tensor in tensors if tensor is not None)


def size_text(dims: Sequence[int]) -> str:
    """Sizes as people write them: 16x559x1024."""
    return "x".join(map(str, dims)) if dims else "1"


def _is_one(dims: Dims | tuple[Dims, ...]) -> TypeGuard[Dims]:
    """Whether these are the sizes of one tensor, not of a list of them."""
    return not any(isinstance(size, tuple) for size in dims)
