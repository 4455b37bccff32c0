"""Reads a user's file of metrics and checks its formulas before anything is computed."""

from __future__ import annotations

import sys
from pathlib import Path

from wavescope.analyze.counters.catalogue import Catalogue, with_metric_file
from wavescope.analyze.counters.catalogue_check import check_metrics
from wavescope.errors import UnreadableInputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST_BYTES = 1 << 20


def add_metric_file(catalogue: Catalogue, path: Path) -> None:
    """Add the metrics of a TOML file to `catalogue`."""
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or str(error)) from error
    if len(content) > LARGEST_BYTES:
        raise UnreadableInputError(path, f"it is larger than {LARGEST_BYTES} bytes")
    try:
        parsed = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableInputError(path, f"it is no TOML: {error}") from error
    with_metric_file(catalogue, str(path), parsed)
    check_metrics(catalogue, [catalogue.metrics[key] for key in parsed["metric"]])
