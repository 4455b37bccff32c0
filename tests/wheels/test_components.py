"""What is said of a wheel's parts: complete, and as the parts say it of themselves."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest

from tools.wheels import licences, sbom
from tools.wheels.components import Role, all_components
from tools.wheels.targets import TARGETS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
EXTRAS = ("arrow", "cluster", "cluster-slurm", "cluster-ssh", "pandas", "plots")
"""Of users; others hold tools of those who work on wavescope."""
SPELLED = {"BSD 3-Clause": "BSD-3-Clause"}
PACKAGES = [part for part in all_components() if part.is_package]


def names_of(requirements: list[str]) -> set[str]:
    names = {re.split(r"[<>=;\[]", line)[0].strip() for line in requirements}
    return names - {"wavescope"}


def listed(role: Role) -> set[str]:
    return {part.name for part in all_components() if part.role is role}


def test_every_dependency_is_listed() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    optional = [row for extra in EXTRAS for row in project["optional-dependencies"][extra]]

    assert names_of(project["dependencies"]) == listed(Role.DEPENDENCY)
    assert names_of(optional) == listed(Role.OPTIONAL)


def test_every_build_tool_is_listed() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    tools = [*project["dependency-groups"]["build"], *project["build-system"]["requires"]]
    assert names_of(tools) == listed(Role.TOOL)


def told_licence(name: str) -> str:
    told = metadata(name)
    licence = told.get("License-Expression") or told.get("License") or ""
    return SPELLED.get(licence, licence)


@pytest.mark.parametrize("part", PACKAGES, ids=lambda part: part.name)
def test_a_licence_is_the_one_that_the_package_tells(part) -> None:
    try:
        told = told_licence(part.name)
    except PackageNotFoundError:
        pytest.skip(f"{part.name} is not installed here")
    assert told == part.licence


def test_the_page_of_licences_is_up_to_date() -> None:
    assert licences.PAGE.read_text() == licences.page()


def test_a_wheel_for_analysis_has_no_parts_of_linux() -> None:
    linux, macos = (
        {row["name"] for row in sbom.described("1.2.3", target, 0)["components"]}
        for target in (TARGETS[0], TARGETS[-1])
    )
    assert linux - macos == {"libunwind", "libc_nonshared of glibc"}
    assert macos < linux


def test_the_same_sources_give_the_same_document() -> None:
    document = sbom.described("1.2.3", TARGETS[0], 86400)

    assert document == sbom.described("1.2.3", TARGETS[0], 86400)
    assert document["metadata"]["timestamp"] == "1970-01-02T00:00:00+00:00"
    own = document["metadata"]["component"]
    assert own["purl"] == "pkg:pypi/wavescope@1.2.3?platform=manylinux_2_28_x86_64"
    references = [row["bom-ref"] for row in document["components"]]
    assert len(set(references)) == len(references)
    (needed,) = document["dependencies"]
    assert needed["ref"] == own["bom-ref"]
    assert set(needed["dependsOn"]) < set(references)
