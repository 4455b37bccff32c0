"""Keeps what Dask does to a process that it is used in from whoever called us."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_TALKERS = ("asyncio", "asyncssh", "dask", "dask_jobqueue", "distributed", "tornado")
_SILENT = logging.CRITICAL + 1


@contextmanager
def undisturbed() -> Iterator[None]:
    """Dask logs and warns nothing inside; variables and levels are as before afterwards.

    It logs what we tell in sentences of our own, such as a lost worker; its nannies set the number
    of threads of numeric libraries in the environment of the process that starts them.
    """
    environment = dict(os.environ)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        levels = _silenced()
        try:
            yield
        finally:
            for logger, level in levels.items():
                logger.setLevel(level)
            for name in os.environ.keys() - environment.keys():
                del os.environ[name]
            os.environ.update(environment)


def _silenced() -> dict[logging.Logger, int]:
    """The loggers that are silent now, with the level that each had."""
    names = {
        name
        for name in (*_TALKERS, *logging.Logger.manager.loggerDict)
        if name.partition(".")[0] in _TALKERS
    }
    loggers = [logging.getLogger(name) for name in sorted(names)]
    levels = {logger: logger.level for logger in loggers}
    for logger in loggers:
        logger.setLevel(_SILENT)
    return levels
