"""`tools/debian_root.py`: which packages make a root, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import debian_root
from wavescope.collect.runtimes.catalogue import catalogue
from wavescope.errors import UsageError


@pytest.mark.parametrize(
    ("suite", "hip"), [("trixie", "libamdhip64-5"), ("forky", "libamdhip64-6")]
)
def test_a_root_has_python_and_the_suites_own_runtime(suite: str, hip: str) -> None:
    wanted = debian_root._wanted(suite)

    assert wanted.name == wanted.known.suite == suite
    assert {"python3", "python3-venv", "libhsa-runtime64-1", hip} <= set(wanted.packages)


def test_a_root_takes_nothing_for_installed_and_runtimes_still_do() -> None:
    assert debian_root._wanted("forky").known.assumed == ()
    assert "python3" in catalogue().wanted("6.4").known.assumed


def test_an_unknown_suite_is_named_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="no runtime is known of the suite 'warty'") as refused:
        debian_root.debian_root("warty", {})

    assert refused.value.hint == "suites: bookworm, trixie, forky"


def test_the_command_line_refuses_what_it_does_not_know(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVESCOPE_RUNTIMES", str(tmp_path / "runtimes"))

    assert debian_root._main([]) == 2
    assert debian_root._main(["warty"]) == 2
    assert "suites: bookworm, trixie, forky" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
