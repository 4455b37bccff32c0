"""Which names may leave which library: the lists that the linker is given."""

from __future__ import annotations

import re
from pathlib import Path

_NATIVE = Path(__file__).resolve().parents[2] / "native"
_GLOBALS = re.compile(r"global:(.*?)local:", re.DOTALL)

EXPORTS = {
    "libwavescope_columns.so": _NATIVE / "columns.map",
    "libwavescope_collector.so": _NATIVE / "collector.map",
    "libwavescope_collector_hip.so": _NATIVE / "collector.map",
    "softgpu/libwavescope_softgpu.so": _NATIVE / "softgpu" / "kfd" / "exports.map",
}
"""The list of each library of a wheel for Linux, by its place below lib/."""


def names_in(version_script: Path) -> list[str]:
    """The names that the script lets out, which may have wildcards."""
    found = _GLOBALS.search(version_script.read_text(encoding="utf-8"))
    assert found is not None
    return re.findall(r"[^\s;]+", found[1])
