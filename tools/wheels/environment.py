"""The build tools, in a virtual environment of their own below build/."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

_REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "build.txt"


@dataclass(frozen=True)
class BuildEnvironment:
    """A folder with the tools of requirements/build.txt."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter that has the tools."""
        return self.folder / "bin" / "python"

    def zig(self) -> Path:
        """The compiler, which lies in a package of its own."""
        found = self._output("import ziglang; print(ziglang.__path__[0])")
        return Path(found) / "zig"

    def _output(self, code: str) -> str:
        command = [str(self.python), "-c", code]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def ready_environment(folder: Path) -> BuildEnvironment:
    """The environment in `folder`, made or brought up to date with requirements/build.txt."""
    environment = BuildEnvironment(folder)
    installed = folder / "installed.txt"
    wanted = _REQUIREMENTS.read_text(encoding="utf-8")
    if installed.is_file() and installed.read_text(encoding="utf-8") == wanted:
        return environment
    print(f"installing the build tools into {folder}", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    pip = [str(environment.python), "-m", "pip", "--disable-pip-version-check", "install"]
    locked = ["--require-hashes", "--requirement", str(_REQUIREMENTS)]
    subprocess.run([*pip, "--quiet", *locked], check=True)
    installed.write_text(wanted, encoding="utf-8")
    return environment
