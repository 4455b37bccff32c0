"""What is done with few files open, whatever else the tests have open."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path


@contextmanager
def few_descriptors(most: int) -> Iterator[None]:
    """This process can open no more than `most` files while the block runs."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    *_, last = islice((number for number in count() if number not in opened), most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
