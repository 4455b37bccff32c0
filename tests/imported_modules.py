"""What a command imports of wavescope."""

from __future__ import annotations

import subprocess
import sys

RUN = """
import sys
from wavescope.cli.main import main

assert main(sys.argv[1:]) == 0
print("\\n".join(name for name in sys.modules if name.partition(".")[0] == "wavescope"))
"""


def modules_of(*arguments: str) -> set[str]:
    """The modules that a command of its own process imports."""
    command = (sys.executable, "-c", RUN, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return {line for line in done.stdout.splitlines() if line.startswith("wavescope")}
