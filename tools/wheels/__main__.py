"""`python -m tools.wheels`: an sdist, and a wheel for each of the platforms named, or for all."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tools.wheels import building, sbom
from tools.wheels.environment import ready_environment
from tools.wheels.targets import TARGETS, Target

_REPOSITORY = Path(__file__).resolve().parents[2]


def _arguments() -> argparse.Namespace:
    by_name = {target.name: target for target in TARGETS}
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description=__doc__)
    parser.add_argument(
        "targets", nargs="*", metavar="PLATFORM", help=f"of {', '.join(by_name)}; all by default"
    )
    parser.add_argument("--output", type=Path, default=_REPOSITORY / "dist", metavar="FOLDER")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.targets if name not in by_name]
    if unknown:
        parser.error(f"no such platform: {', '.join(unknown)}; there are {', '.join(by_name)}")
    arguments.targets = [by_name[name] for name in arguments.targets or by_name]
    return arguments


def _prepared(output: Path) -> building.Build:
    work = _REPOSITORY / "build" / "wheels"
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return building.Build(
        repository=_REPOSITORY,
        work=work,
        output=output.resolve(),
        environment=ready_environment(work / "environment"),
        epoch=int(epoch) if epoch else building.last_commit_seconds(_REPOSITORY),
    )


def _build_wheel(build: building.Build, source: Path, target: Target) -> Path:
    described = build.work / f"{target.name}.cdx.json"
    sbom.write(described, source, target, build.epoch)
    wheel = building.build_wheel(build, source, target, described)
    wheel.with_suffix(".whl.cdx.json").write_bytes(described.read_bytes())
    return wheel


def main() -> None:
    """Build what the arguments name, and say where it is."""
    arguments = _arguments()
    build = _prepared(arguments.output)
    sdist = building.build_sdist(build)
    source = building.unpacked(build, sdist)
    wheels = [_build_wheel(build, source, target) for target in arguments.targets]
    for path in (sdist, *wheels):
        print(f"{path.stat().st_size:>12,}  {path}")


main()
