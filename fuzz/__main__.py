"""`python -m fuzz`: runs cases for a time, or as many as asked, and prints a table of them."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz.campaign import Campaign, CampaignOptions, table_of
from fuzz.readers import BY_NAME

_ROOT = Path(__file__).parent.parent
_MEMORY = Path("/dev/shm")
_SHARED = _ROOT.parent / "shared" / "data"


def main(arguments: Sequence[str] | None = None) -> int:
    """1 where anything failed."""
    asked = _parser().parse_args(arguments)
    seed = asked.seed if asked.seed is not None else time.time_ns() % 1_000_000
    options = CampaignOptions(
        readers=tuple(asked.reader or BY_NAME),
        seed=seed,
        seconds=asked.seconds,
        cases=asked.cases,
        first=asked.first,
        failures=asked.failures,
        shared_data=_SHARED if _SHARED.is_dir() and not asked.own_samples else None,
    )
    print(f"seed {seed}: {' '.join(options.readers)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="wavescope-fuzz-", dir=_memory_folder()) as folder:
        campaign = Campaign(options, Path(folder), lambda line: print(line, flush=True))
        counts = campaign.run()
    print(table_of(counts))
    if campaign.failures.count:
        print(f"failing inputs and their commands are in {options.failures}")
    return 1 if campaign.failures.count else 0


def _memory_folder() -> str | None:
    """A folder that costs no writing to a disk, where there is one."""
    return str(_MEMORY) if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=180.0, help="how long (default 180)")
    parser.add_argument("--cases", type=int, help="so many of each reader, however long it takes")
    parser.add_argument("--reader", action="append", choices=list(BY_NAME), help="only this one")
    parser.add_argument("--seed", type=int, help="repeats the cases of a run that had it")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--own-samples", action="store_true", help="no real files as samples")
    parser.add_argument(
        "--failures", type=Path, default=_ROOT / "build" / "fuzz" / "failures", help="where to keep"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
