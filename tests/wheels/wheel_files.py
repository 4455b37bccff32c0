"""The wheels in dist/, opened."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.wheels.sbom import wavescope_version
from tools.wheels.targets import TARGETS, Target

REPOSITORY = Path(__file__).parents[2]
VERSION = wavescope_version(REPOSITORY)
METADATA = f"wavescope-{VERSION}.dist-info"
LINUX = [target for target in TARGETS if target.system == "Linux"]


@dataclass(frozen=True)
class Wheel:
    """One wheel: its file, and what is inside by name."""

    path: Path
    content: dict[str, bytes]

    def metadata(self, name: str) -> str:
        """The text of a file beside the metadata."""
        return self.content[f"{METADATA}/{name}"].decode()


@cache
def wheel_of(target: Target) -> Wheel:
    """The wheel of a platform; `make wheels` writes it."""
    path = REPOSITORY / "dist" / f"wavescope-{VERSION}-{target.tag}.whl"
    assert path.is_file(), f"there is no {path.name} in dist/: run `make wheels` first"
    with zipfile.ZipFile(path) as archive:
        return Wheel(path, {name: archive.read(name) for name in archive.namelist()})
