"""The command line of `wavescope trace`, up to the options it becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.cli.trace import COMMAND, _options, _timeline_path
from wavescope.collect.record_options import Keep, RecordMode, RecordOptions, Slices
from wavescope.errors import UsageError


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    from wavescope.collect.ranks import LAUNCHER_VARIABLES

    for name in (variable for pair in LAUNCHER_VARIABLES for variable in pair if variable):
        monkeypatch.delenv(name, raising=False)


def options_of(*arguments: str) -> RecordOptions:
    return _options(COMMAND.parser().parse_args(list(arguments)))


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="'0M' is no size; write for example 500M or 2G"):
        options_of("--max-size", "0M", "prog")


def test_defaults() -> None:
    assert options_of("prog") == RecordOptions(("prog",), Path("trace.db"))


@pytest.mark.parametrize(
    ("arguments", "command", "softgpu"),
    [
        (("prog", "-o", "x", "--", "y"), ("prog", "-o", "x", "--", "y"), None),
        (("--", "prog", "--", "y"), ("prog", "--", "y"), None),
        (("--softgpu", "prog", "a"), ("prog", "a"), ""),
        (("--softgpu=gfx90a,gpus=8", "prog"), ("prog",), "gfx90a,gpus=8"),
        (("-o", "t.db", "--softgpu", "--", "prog"), ("prog",), ""),
        (("prog", "--softgpu", "x"), ("prog", "--softgpu", "x"), None),
        (("--mode", "full", "-q", "--softgpu", "--json", "prog"), ("prog",), ""),
        (("-ot.db", "--softgpu", "prog", "--perfetto"), ("prog", "--perfetto"), ""),
    ],
)
def test_the_program_begins_where_options_end(
    arguments: tuple[str, ...], command: tuple[str, ...], softgpu: str | None
) -> None:
    options = options_of(*arguments)

    assert (options.command, options.softgpu) == (command, softgpu)


def test_every_option() -> None:
    options = options_of(
        *("-o", "out.db", "-m", "hip", "--start-paused", "--delay", "2.5", "--duration", "500ms"),
        *(
            "--max-size",
            "1.5G",
            "--keep",
            "oldest",
            "--kernel",
            "gemm",
            "--keep-chunks",
            "--force",
            "prog",
        ),
    )

    assert options == RecordOptions(
        ("prog",),
        Path("out.db"),
        mode=RecordMode.HIP,
        start_paused=True,
        delay_ms=2500,
        duration_ms=500,
        max_bytes=1_500_000_000,
        keep=Keep.OLDEST,
        kernel="gemm",
        keep_chunks=True,
        force=True,
    )


def test_options_of_nvidia_gpus() -> None:
    options = options_of("--mode", "lite", "--slices", "15/300", "--flush-period", "100ms", "prog")

    assert options == RecordOptions(
        ("prog",), mode=RecordMode.LITE, slices=Slices(15, 300), flush_ms=100
    )


def test_calls_of_cuda_and_of_hip_are_one_mode() -> None:
    assert options_of("--mode", "cuda", "prog").mode is RecordMode.HIP
    assert RecordOptions(("prog",), mode="cuda").mode is RecordMode.HIP  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["20ms/400ms", " 20/400 "])
def test_slices_are_milliseconds_of_milliseconds(text: str) -> None:
    assert Slices.parse(text) == Slices(20, 400) == Slices()
    assert Slices.parse("off") == Slices(0)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("4096", 4096), ("500M", 500_000_000), ("2GB", 2_000_000_000), ("10kB", 10_000)],
)
def test_sizes(text: str, size_bytes: int) -> None:
    assert options_of("--max-size", text, "prog").max_bytes == size_bytes


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--",),
        ("--mode", "fast", "prog"),
        ("--delay", "-1", "prog"),
        ("--duration", "soon", "prog"),
        ("--last", "0", "prog"),
        ("--last", "999999999999999999s", "prog"),
        ("--max-size", "big", "prog"),
        ("--max-size", "1G", "--keep", "some", "prog"),
        ("--keep", "oldest", "prog"),
        ("--kernel", "(", "prog"),
        ("--nonesuch", "prog"),
        ("--slices", "20/400", "prog"),
        ("--mode", "lite", "--slices", "20", "prog"),
        ("--mode", "lite", "--slices", "400/400", "prog"),
        ("--mode", "lite", "--slices", "0/400", "prog"),
        ("--mode", "lite", "--slices", "20/70000", "prog"),
        ("--flush-period", "5ms", "prog"),
        ("--flush-period", "61s", "prog"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        options_of(*arguments)


def test_the_timeline_is_named_after_the_trace() -> None:
    assert _timeline_path(None, Path("a/t.db")) is None
    assert _timeline_path("", Path("a/t.db")) == Path("a/t.pftrace")
    assert _timeline_path("x.json", Path("a/t.db")) == Path("x.json")
