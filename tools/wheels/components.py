"""What wheels are made of, as components.toml and the lists of versions have it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
_LOCKED = [Path("requirements", name) for name in ("test.txt", "build.txt")]
_VERSION = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)


class Role(Enum):
    """What a component is to a wheel, as the file calls it."""

    DEPENDENCY = "dependency"
    OPTIONAL = "optional"
    LINKED = "linked"
    TOOL = "tool"


@dataclass(frozen=True)
class Component:
    """One part: which version of it, under which licence, and what for."""

    role: Role
    name: str
    version: str
    licence: str
    purpose: str
    systems: tuple[str, ...] = ("Linux", "Darwin")

    @property
    def is_package(self) -> bool:
        """Whether it comes from PyPI."""
        return self.role is not Role.LINKED


def all_components() -> list[Component]:
    """Every component, in the order of the file."""
    listed = tomllib.loads((_HERE / "components.toml").read_text(encoding="utf-8"))
    versions = _listed_versions()
    return [_component(role, row, versions) for role in Role for row in listed[role.value]]


def _component(role: Role, row: dict[str, Any], versions: dict[str, str]) -> Component:
    return Component(
        role=role,
        name=row["name"],
        version=row.get("version") or versions[_normal(row["name"])],
        licence=row["licence"],
        purpose=row["for"],
        systems=tuple(row.get("systems", Component.systems)),
    )


def _listed_versions() -> dict[str, str]:
    """The locked version of each package, the newest where older Pythons have another."""
    locked = "\n".join((_ROOT / file).read_text(encoding="utf-8") for file in _LOCKED)
    return {_normal(name): version for name, version in sorted(_VERSION.findall(locked), key=_age)}


def _age(listed: tuple[str, str]) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", listed[1])]


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")
