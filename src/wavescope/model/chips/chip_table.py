"""Chips as their table states them, read once into typed values."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from wavescope.errors import UsageError
from wavescope.package_files import packaged_toml

_FEATURES = re.compile(r"(gfx[0-9a-f]+)(?::.*)?", re.ASCII)


class Accumulators(str, enum.Enum):
    """Where the accumulation registers (AGPRs) of matrix instructions lie."""

    NONE = "none"
    SEPARATE = "separate"
    """A file of its own, as large as the other: the larger of both counts is taken from each."""
    UNIFIED = "unified"
    """One file for both: the sum of both counts is taken from it."""


class RegisterFile(NamedTuple):
    """Vector registers that the waves of one SIMD share, and in which steps they are given out."""

    pool: int
    granule: int


class Product(NamedTuple):
    """A board with this chip."""

    name: str
    cus: int
    clock_mhz: int
    memory_gb_per_s: float


@dataclass(frozen=True)
class Chip:
    """One `gfx` target; `registers` is by wave size, the default wave size first."""

    name: str
    waves_per_simd: int
    simds_per_cu: int
    accumulators: Accumulators
    addressable_vgprs: int
    sgprs_per_simd: int
    """0 where every wave has its scalar registers anyway."""
    sgpr_granule: int
    addressable_sgprs: int
    lds_bytes_per_cu: int
    lds_granule_bytes: int
    lds_limit_bytes: int
    """The most that one workgroup may have."""
    barriers_per_cu: int
    pools_two_cus: bool
    """Whether two compute units work as one (WGP mode) unless told otherwise."""
    large_read_counter: str
    """Counts reads of 128 bytes; TCC_BUBBLE does so on gfx94x and stays 0 on gfx950."""
    memory_read_granules: tuple[int, ...]
    """Sizes in bytes of the reads that L2 sends to memory."""
    registers: Mapping[int, RegisterFile]
    products: tuple[Product, ...]

    @property
    def wave_size(self) -> int:
        """Lanes of a wave unless the compiler was told otherwise."""
        return next(iter(self.registers))

    @property
    def product(self) -> Product:
        """The board that is meant where none is named."""
        return self.products[0]

    def product_named(self, name: str) -> Product | None:
        """The board whose name is in `name` or the other way round: 'AMD Instinct MI300A'."""
        wanted = name.casefold().strip()
        for product in sorted(self.products, key=lambda each: -len(each.name)):
            short = product.name.casefold()
            if wanted and (short in wanted or wanted in short):
                return product
        return None


def chip_named(name: str) -> Chip:
    """The chip called `name` (gfx942, gfx90a:sramecc+:xnack-), or a usage error that lists all."""
    found = find_chip(name)
    if found is None:
        raise UsageError(
            f"there is no chip '{name}' in the table",
            hint=f"there are: {', '.join(chips())}",
        )
    return found


def find_chip(name: str) -> Chip | None:
    """As `chip_named`, None where the table has no such chip."""
    match = _FEATURES.fullmatch(name.strip().lower())
    return chips().get(match.group(1)) if match else None


@functools.cache
def chips() -> Mapping[str, Chip]:
    """All chips by name, in the order of the table."""
    rows = table("chips.toml")
    return MappingProxyType({name: _chip(name, _with_base(rows, name)) for name in rows})


def table(file: str) -> dict[str, Any]:
    """The content of one of the tables of this folder."""
    return packaged_toml("model", "chips", file)


def _with_base(rows: dict[str, Any], name: str) -> dict[str, Any]:
    row = dict(rows[name])
    base = row.pop("base", None)
    if base is None:
        return row
    inherited = _with_base(rows, base)
    registers = inherited["registers"] | row.pop("registers", {})
    return inherited | row | {"registers": registers}


def _chip(name: str, row: dict[str, Any]) -> Chip:
    registers = {
        int(size.removeprefix("wave")): RegisterFile(**file)
        for size, file in row["registers"].items()
    }
    return Chip(
        **row
        | {
            "name": name,
            "accumulators": Accumulators(row["accumulators"]),
            "memory_read_granules": tuple(row["memory_read_granules"]),
            "registers": MappingProxyType(registers),
            "products": tuple(Product(**product) for product in row["products"]),
        }
    )
