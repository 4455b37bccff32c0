"""What Dask does to the process that it is used in is taken back."""

from __future__ import annotations

import logging
import os
import warnings

import pytest

from wavescope.workers.undisturbed import undisturbed


def test_variables_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "1")
    before = dict(os.environ)
    with pytest.raises(KeyboardInterrupt), undisturbed():
        os.environ["NEW_ONE"] = "1"
        os.environ["KEPT"] = "changed"
        del os.environ["PATH"]
        raise KeyboardInterrupt

    assert dict(os.environ) == before


def test_dask_is_silent_and_others_are_not(caplog: pytest.LogCaptureFixture) -> None:
    dask, other = logging.getLogger("distributed.testing"), logging.getLogger("someone.else")
    dask.setLevel(logging.INFO)
    with undisturbed():
        dask.critical("a worker was lost")
        other.error("our own")
        warnings.warn("versions differ", stacklevel=1)

    assert caplog.messages == ["our own"]
    assert dask.level == logging.INFO
    with pytest.warns(UserWarning, match="heard again"):
        warnings.warn("heard again", stacklevel=1)
