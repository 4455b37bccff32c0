"""What tests, builds and tools install is locked: one version for each Python, with hashes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]
BACKEND = PROJECT["build-system"]["requires"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PINNED = re.compile(
    r"^(?P<pin>[a-z0-9-]+==[^\s;]+)(?: ; (?P<marker>[^\\\n]*?))? \\\n(?P<hashes>(?:    --hash=.*\n)+)",
    re.M,
)
HASHES = re.compile(r"(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+")


@cache
def entries(name: str) -> list[tuple[str, str, str]]:
    """The pin, the marker and the hashes of each entry of requirements/NAME.txt."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return PINNED.findall(text)


def on_linux(python: str) -> dict[str, str]:
    """What markers are about, on a Linux machine with that Python."""
    return {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "sys_platform": "linux",
        "os_name": "posix",
        "platform_system": "Linux",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }


def locked(name: str, python: str) -> dict[str, str]:
    """Package -> version that requirements/NAME.txt has for a Python; no package has two."""
    found: dict[str, str] = {}
    for pin, marker, _ in entries(name):
        package, version = pin.split("==")
        if not marker or Requirement(f"{pin}; {marker}").marker.evaluate(on_linux(python)):
            assert package not in found
            found[package] = version
    return found


def unlocked(wanted: list[str], name: str, python: str) -> list[str]:
    """Those of the requirements that the lock has no fitting version for."""
    have = locked(name, python)
    missing = []
    for requirement in map(Requirement, wanted):
        if requirement.marker and not requirement.marker.evaluate(on_linux(python)):
            continue
        version = have.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version):
            missing.append(f"{requirement} (locked: {version})")
    return missing


@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_and_extra_is_locked_for_the_tests(python: str) -> None:
    extras = [each for names in EXTRAS.values() for each in names]
    wanted = [*PROJECT["project"]["dependencies"], *extras, *BACKEND]

    own = [each for each in wanted if not each.startswith("wavescope[")]
    assert len(own) > 20
    assert unlocked(own, "test", python) == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("group", GROUPS)
def test_every_dependency_group_is_locked(group: str, python: str) -> None:
    wanted = GROUPS[group] + (BACKEND if group == "build" else [])

    assert unlocked(wanted, group, python) == []


def test_each_lock_belongs_to_a_group() -> None:
    assert [lock.stem for lock in LOCKS] == sorted(["test", *GROUPS])


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_holds_pins_with_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    comments = re.compile(r"^ *#.*\n", re.M)

    assert comments.sub("", PINNED.sub("", text)) == ""
    assert all(HASHES.fullmatch(hashes) for _, _, hashes in entries(lock.stem))
    assert "://" not in text
    assert not [line for line in text.splitlines() if line.startswith("-")]


def test_a_requirement_that_is_not_locked_is_found_out() -> None:
    assert unlocked(["numpy>=99", "no-such-package", "numpy>=1"], "test", "3.12") == [
        f"numpy>=99 (locked: {locked('test', '3.12')['numpy']})",
        "no-such-package (locked: None)",
    ]
