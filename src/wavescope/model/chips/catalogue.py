"""Reads the table of chips, once, into typed values."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from wavescope.errors import MachineError, UsageError
from wavescope.model.chips.chip import (
    Accumulators,
    Chip,
    Product,
    RegisterFile,
)
from wavescope.package_files import package_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TARGET_VERSION = re.compile(r"\d{5,6}", re.ASCII)
_FEATURES = re.compile(r"(gfx[0-9a-f]+)(?::.*)?", re.ASCII)


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


def chip_of_target_version(version: int) -> Chip | None:
    """The chip of a Gfx_Target_Version: major * 10000 + minor * 100 + step, 90402 for gfx942."""
    if not _TARGET_VERSION.fullmatch(str(version)):
        return None
    major, rest = divmod(version, 10_000)
    minor, step = divmod(rest, 100)
    return find_chip(f"gfx{major}{minor}{step:x}")


@functools.cache
def chips() -> Mapping[str, Chip]:
    """All chips by name, in the order of the table."""
    rows = table("chips.toml")
    return MappingProxyType({name: _chip(name, _with_base(rows, name)) for name in rows})


def table(file: str) -> dict[str, Any]:
    """The content of one of the tables of this folder."""
    path = package_file("model", "chips", file)
    if path is None:
        raise MachineError(
            f"the installation lacks model/chips/{file}", hint="install wavescope again"
        )
    with path.open("rb") as stream:
        return tomllib.load(stream)


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
