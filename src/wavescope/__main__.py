"""`python -m wavescope` is `wavescope`."""

from __future__ import annotations

import sys

from wavescope.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
