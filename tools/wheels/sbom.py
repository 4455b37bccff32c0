"""What a wheel is made of, as CycloneDX 1.6: itself, what it needs, what is linked in, tools."""

from __future__ import annotations

import json
import re
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tools.wheels.components import Component, Role, all_components
from tools.wheels.targets import Target

_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_SCOPES = {Role.DEPENDENCY: "required", Role.OPTIONAL: "optional", Role.LINKED: "required"}


def write(path: Path, source: Path, target: Target, epoch: int) -> None:
    """Write the document on the wheel of `target`; the same for the same sources and time."""
    document = described(wavescope_version(source), target, epoch)
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def wavescope_version(source: Path) -> str:
    """The version that the sources say they have."""
    text = (source / "src" / "wavescope" / "version.py").read_text(encoding="utf-8")
    found = _VERSION.search(text)
    assert found is not None
    return found[1]


def described(version: str, target: Target, epoch: int) -> dict[str, Any]:
    """The document on the wheel of `target`."""
    components = [part for part in all_components() if target.system in part.systems]
    inside = [part for part in components if part.role is not Role.TOOL]
    own = _own(version, target)
    needed = [_reference(part) for part in inside if part.role is not Role.OPTIONAL]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{own['bom-ref']}#{epoch}").urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).isoformat(),
            "component": own,
            "tools": {"components": [_row(part) for part in components if part.role is Role.TOOL]},
        },
        "components": [_row(part) for part in inside],
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": needed}],
    }


def _own(version: str, target: Target) -> dict[str, Any]:
    reference = f"pkg:pypi/wavescope@{version}?platform={target.platform_tag}"
    return {
        "type": "application",
        "bom-ref": reference,
        "name": "wavescope",
        "version": version,
        "licenses": [{"license": {"id": "MIT"}}],
        "purl": reference,
    }


def _row(part: Component) -> dict[str, Any]:
    row: dict[str, Any] = {
        "type": "library" if part.role is not Role.TOOL else "application",
        "bom-ref": _reference(part),
        "name": part.name,
        "version": part.version,
        "description": part.purpose.replace("`", ""),
        "licenses": [_licence(part)],
    }
    if part.role in _SCOPES:
        row["scope"] = _SCOPES[part.role]
    if part.is_package:
        row["purl"] = _reference(part)
    return row


def _licence(part: Component) -> dict[str, Any]:
    """As an expression of SPDX; what it has no words for is spelled out, with a comma."""
    if "," in part.licence:
        return {"license": {"name": part.licence}}
    return {"expression": part.licence}


def _reference(part: Component) -> str:
    if part.is_package:
        return f"pkg:pypi/{part.name}@{part.version}"
    return f"linked:{part.name.replace(' ', '-')}@{part.version}"
