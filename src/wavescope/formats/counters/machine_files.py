"""Which chip counters were counted on, from the files that profilers write beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.csv_blocks import CsvBlocks

_FILE_LIMIT = 1_000
_LARGEST_BYTES = 4 << 20
_LEVELS_UP = 2


def machine_beside(path: Path) -> tuple[str, str]:
    """Chip and product by agent_info.csv or sysinfo.csv in the folder or above; '' if unknown."""
    for candidate in _candidates(path):
        try:
            found = _machine_of(candidate)
        except (UnreadableInputError, OSError):
            continue
        if found[0]:
            return found
    return "", ""


def _candidates(path: Path) -> Iterator[Path]:
    folder = path.resolve().parent
    for _ in range(_LEVELS_UP):
        for number, each in enumerate(sorted(folder.glob("*.csv"))):
            if number >= _FILE_LIMIT:
                break
            name = each.name.casefold()
            if name.endswith("agent_info.csv") or name == "sysinfo.csv":
                yield each
        folder = folder.parent


def _machine_of(path: Path) -> tuple[str, str]:
    if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
        return "", ""
    with CsvBlocks(path, free_text=("command", "product_name")) as blocks:
        header = blocks.header
        for rows in blocks.rows():
            for row in rows:
                cells = dict(zip(header, row, strict=True))
                chip = cells.get("gpu_arch") or cells.get("name", "")
                if chip.startswith("gfx") and cells.get("agent_type", "GPU").upper() == "GPU":
                    return chip, cells.get("gpu_model") or cells.get("product_name", "")
    return "", ""
