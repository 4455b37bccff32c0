"""Bytes between L2 and memory from counted requests. docs/traffic.md publishes the formulas."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from wavescope.model.chips.chip_table import Chip

Values = Mapping[str, float]

_KIBI = 1024


class Formula(str, enum.Enum):
    """Which formula gave the bytes of a kernel."""

    BY_SIZE = "requests by size"
    LARGE_APART = "64 B requests, 128 B and 32 B counted apart"
    PLAIN = "64 B requests, 32 B counted apart"
    DERIVED = "FETCH_SIZE as the profiler derived it"
    CHANNELS = "seed model: 64 B requests x EA channels"


class Transfer(NamedTuple):
    """Bytes of one direction; `caveat` says why they may be off, or is empty."""

    size_bytes: float
    formula: Formula
    caveat: str = ""
    is_lower_bound: bool = False
    """Whether reads of 128 bytes may have been counted as reads of 64."""


class ReadMix(NamedTuple):
    """How many reads there are, and how many of them are of 32 and of 128 bytes."""

    total: float
    of_32_bytes: float | None
    of_128_bytes: float | None


_NO_LARGE = "{} was not collected: 128 B reads count as 64 B, a lower bound"
_NO_BUBBLES = (
    "TCC_BUBBLE is 0: on gfx950 it does not count, and 128 B reads then count as 64 B; "
    "collect TCC_EA0_RDREQ_128B_sum there"
)
_HALVED_FETCH = (
    "FETCH_SIZE of gfx950 counts 128 B reads as 64 B before ROCm 10: up to twice as much is read"
)
_NO_HALVES = "reads of 32 B were not counted apart: an upper bound"
_READ_PREFIXES = ("TCC_EA0_RDREQ", "TCC_EA_RDREQ", "GL2C_EA_RDREQ")
_WRITE_PREFIXES = ("TCC_EA0_WRREQ", "TCC_EA_WRREQ", "GL2C_EA_WRREQ")
_SIZES = (32, 64, 96, 128)

TRAFFIC_COUNTERS = frozenset(
    [
        *("TCC_HIT", "TCC_MISS", "GL2C_HIT", "GL2C_MISS", "L2CACHEHIT"),
        *("FETCH_SIZE", "WRITE_SIZE", "TCC_BUBBLE", "TCP_TCC_READ_REQ"),
        *(f"{prefix}_DRAM" for prefix in _READ_PREFIXES),
        *_READ_PREFIXES,
        *_WRITE_PREFIXES,
        *(f"{prefix}_{size}B" for prefix in _READ_PREFIXES for size in _SIZES),
        *(f"{prefix}_64B" for prefix in _WRITE_PREFIXES),
        *("SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "LDSBANKCONFLICT"),
    ]
)
"""Names, without `_sum`, of all counters that the traffic report looks at."""


def read_transfer(values: Values, chip: Chip | None) -> Transfer | None:
    """Bytes read from memory by the vendor's own formula, None where nothing tells."""
    by_size = _by_size(values)
    if by_size is not None:
        return by_size
    prefix = _present(values, _READ_PREFIXES[:2])
    if prefix is not None:
        return _by_total(values, prefix, chip)
    if "FETCH_SIZE" in values:
        halved = chip is not None and chip.name == "gfx950"
        return Transfer(
            values["FETCH_SIZE"] * _KIBI, Formula.DERIVED, _HALVED_FETCH if halved else ""
        )
    return None


def channel_transfer(values: Values, channels: int) -> Transfer | None:
    """Bytes read by the model that multiplies with EA channels; for comparison with old reports."""
    prefix = _present(values, _READ_PREFIXES[:2])
    if prefix is None:
        return None
    halves = values.get(f"{prefix}_32B")
    small = min(halves or 0.0, values[prefix])
    size = ((values[prefix] - small) * 64 + small * 32) * channels
    return Transfer(size, Formula.CHANNELS, "" if halves is not None else _NO_HALVES)


def write_transfer(values: Values) -> Transfer | None:
    """Bytes written to memory, None where nothing tells."""
    prefix = _present(values, _WRITE_PREFIXES)
    if prefix is not None and f"{prefix}_64B" in values:
        full = min(values[f"{prefix}_64B"], values[prefix])
        return Transfer((values[prefix] - full) * 32 + full * 64, Formula.PLAIN)
    if "WRITE_SIZE" in values:
        return Transfer(values["WRITE_SIZE"] * _KIBI, Formula.DERIVED)
    return None


def hit_percent(values: Values) -> float | None:
    """Share of L2 requests that L2 served itself."""
    for prefix in ("TCC", "GL2C"):
        hits, misses = values.get(f"{prefix}_HIT"), values.get(f"{prefix}_MISS")
        if hits is not None and misses is not None and hits + misses > 0:
            return 100 * hits / (hits + misses)
    return values.get("L2CACHEHIT")


def read_mix(values: Values) -> ReadMix | None:
    """Reads by size, None where they were not counted."""
    prefix = _present(values, _READ_PREFIXES)
    if prefix is None or values[prefix] <= 0:
        return None
    large = values.get(f"{prefix}_128B", values.get("TCC_BUBBLE") or None)
    return ReadMix(values[prefix], values.get(f"{prefix}_32B"), large)


def _by_size(values: Values) -> Transfer | None:
    for prefix in ("TCC_EA0_RDREQ", "GL2C_EA_RDREQ"):
        counted = {size: values.get(f"{prefix}_{size}B") for size in _SIZES}
        if counted[64] is not None and counted[128] is not None:
            size_bytes = sum(size * (count or 0.0) for size, count in counted.items())
            caveat = "" if counted[32] is not None else "reads of 32 B were not collected"
            return Transfer(size_bytes, Formula.BY_SIZE, caveat)
    return None


def _by_total(values: Values, prefix: str, chip: Chip | None) -> Transfer:
    total = values[prefix]
    halves = values.get(f"{prefix}_32B")
    small = min(halves or 0.0, total)
    caveat = "" if halves is not None else _NO_HALVES
    counter = chip.large_read_counter if chip else _large_counter(values, prefix)
    if not counter:
        return Transfer((total - small) * 64 + small * 32, Formula.PLAIN, caveat)
    large = min(values.get(counter, 0.0), total - small)
    size = large * 128 + (total - large - small) * 64 + small * 32
    if counter not in values:
        return Transfer(size, Formula.PLAIN, _NO_LARGE.format(f"{counter}_sum"), True)
    if chip is None and counter == "TCC_BUBBLE" and not large:
        return Transfer(size, Formula.LARGE_APART, _NO_BUBBLES, True)
    return Transfer(size, Formula.LARGE_APART, caveat)


def _large_counter(values: Values, prefix: str) -> str:
    """What counts 128 B reads where the chip is unknown: TCC_EA names are from chips without."""
    if prefix != "TCC_EA0_RDREQ":
        return ""
    by_size = f"{prefix}_128B"
    return by_size if by_size in values else "TCC_BUBBLE"


def _present(values: Values, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in values), None)
