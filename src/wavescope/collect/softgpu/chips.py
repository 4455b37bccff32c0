"""The chips that the software GPU can play, as `chips.toml` tells them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache

from wavescope.errors import MachineError
from wavescope.package_files import package_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Chip:
    """What the kernel driver tells of a whole GPU."""

    driver_name: str
    target_version: int
    device_id: int
    compute_units: int
    xccs: int
    shader_arrays: int
    arrays_per_engine: int
    units_per_array: int
    simds_per_unit: int
    waves_per_simd: int
    wavefront_size: int
    engine_mhz: int
    memory_mhz: int
    memory_bits: int
    memory_gib: int
    lds_kib: int
    l2_kib: int
    l3_mib: int
    sdma_engines: int
    xgmi_sdma_engines: int
    has_error_correction: bool
    has_xgmi: bool


@lru_cache(maxsize=1)
def chips() -> dict[str, Chip]:
    """All chips by name."""
    path = package_file("collect", "softgpu", "chips.toml")
    if path is None:
        raise MachineError(
            "this installation lacks the chips of the software GPU",
            hint="pip install --force-reinstall wavescope",
        )
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    base = sections.pop("base")
    return {name: Chip(**{**base, **section}) for name, section in sections.items()}
