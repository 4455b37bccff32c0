"""The recorded program's environment: the user's own, and the collector after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.collect.libraries import is_loadable, linked
from wavescope.collect.record_options import Keep, RecordMode, RecordOptions, Slices
from wavescope.collect.recording.injection import Injection, injected_environment
from wavescope.errors import MachineError

OPTIONS = RecordOptions(("prog",), Path("trace.db"))
PLACE = Injection(Path("/opt/lib/libc.so"), Path("/data/session"))


def test_a_plain_environment_gets_the_collector_and_its_settings() -> None:
    assert injected_environment(OPTIONS, {"HOME": "/root"}, PLACE) == {
        "HOME": "/root",
        "LD_PRELOAD": "/opt/lib/libc.so",
        "HSA_TOOLS_LIB": "/opt/lib/libc.so",
        "HSA_TOOLS_DISABLE_REGISTER": "1",
        "CUDA_INJECTION64_PATH": "/opt/lib/libc.so",
        "NVTX_INJECTION64_PATH": "/opt/lib/libc.so",
        "WAVESCOPE_OUTPUT": "/data/session",
        "WAVESCOPE_MODE": "standard",
    }


def test_every_option_has_its_variable() -> None:
    options = RecordOptions(
        ("prog",),
        Path("trace.db"),
        mode=RecordMode.HIP,
        start_paused=True,
        delay_ms=1500,
        duration_ms=10_000,
        max_bytes=1 << 30,
        flush_ms=100,
    )
    environment = injected_environment(options, {}, PLACE)

    assert {name: value for name, value in environment.items() if name.startswith("WAVE")} == {
        "WAVESCOPE_OUTPUT": "/data/session",
        "WAVESCOPE_MODE": "hip",
        "WAVESCOPE_START_PAUSED": "1",
        "WAVESCOPE_DELAY_MS": "1500",
        "WAVESCOPE_DURATION_MS": "10000",
        "WAVESCOPE_MAX_BYTES": "1073741824",
        "WAVESCOPE_KEEP": "newest",
        "WAVESCOPE_FLUSH_MS": "100",
    }


def test_the_oldest_records_are_kept_when_nothing_else_is_said() -> None:
    outer = {"WAVESCOPE_KEEP": "newest"}
    for options in (
        RecordOptions(("prog",), max_bytes=1 << 30, keep=Keep.OLDEST),
        RecordOptions(("prog",)),
    ):
        assert "WAVESCOPE_KEEP" not in injected_environment(options, outer, PLACE)


def test_slices_of_lite_mode_have_their_variables() -> None:
    options = RecordOptions(("prog",), mode=RecordMode.LITE, slices=Slices(15, 300))
    environment = injected_environment(options, {"WAVESCOPE_FLUSH_MS": "of an outer one"}, PLACE)

    assert environment["WAVESCOPE_SLICE_MS"] == "15"
    assert environment["WAVESCOPE_SLICE_PERIOD_MS"] == "300"
    off = RecordOptions(("prog",), mode=RecordMode.LITE, slices=Slices.parse("off"))
    assert injected_environment(off, {}, PLACE)["WAVESCOPE_SLICE_MS"] == "0"
    assert "WAVESCOPE_FLUSH_MS" not in environment


def test_the_library_of_records_is_named_where_there_is_one() -> None:
    place = Injection(PLACE.collector, PLACE.session, cupti=Path("/opt/my cuda/libcupti.so.13"))

    environment = injected_environment(OPTIONS, {}, place)

    assert environment["WAVESCOPE_CUPTI"] == "/opt/my cuda/libcupti.so.13"
    assert "WAVESCOPE_CUPTI" not in injected_environment(OPTIONS, {}, PLACE)


def test_what_the_user_preloads_stays_and_comes_first() -> None:
    given = {
        "LD_PRELOAD": "libasan.so:libjemalloc.so",
        "HSA_TOOLS_LIB": "libother.so",
        "CUDA_INJECTION64_PATH": "libnsys.so",
        "NVTX_INJECTION64_PATH": "libmine.so",
    }
    environment = injected_environment(OPTIONS, given, PLACE)

    assert environment["LD_PRELOAD"] == "libasan.so:libjemalloc.so:/opt/lib/libc.so"
    assert environment["HSA_TOOLS_LIB"] == "libother.so /opt/lib/libc.so"
    assert environment["CUDA_INJECTION64_PATH"] == "libnsys.so"
    assert environment["NVTX_INJECTION64_PATH"] == "libmine.so"
    assert given["LD_PRELOAD"] == "libasan.so:libjemalloc.so"


def test_nesting_changes_the_session_and_does_not_load_twice() -> None:
    outer = injected_environment(RecordOptions(("a",), Path("t.db"), start_paused=True), {}, PLACE)
    inner = injected_environment(
        OPTIONS, outer, Injection(Path("/opt/lib/libc.so"), Path("/data/inner"))
    )

    assert inner["LD_PRELOAD"] == inner["HSA_TOOLS_LIB"] == "/opt/lib/libc.so"
    assert inner["WAVESCOPE_OUTPUT"] == "/data/inner"
    assert "WAVESCOPE_START_PAUSED" not in inner


def test_an_outer_recordings_collector_is_replaced_by_this_ones() -> None:
    outer = {
        "CUDA_INJECTION64_PATH": "/opt/lib/libwavescope_collector.so",
        "NVTX_INJECTION64_PATH": "/opt/lib/libwavescope_collector.so",
    }
    place = Injection(Path("/opt/lib/libwavescope_collector_hip.so"), PLACE.session)

    environment = injected_environment(OPTIONS, outer, place)

    assert environment["CUDA_INJECTION64_PATH"] == str(place.collector)
    assert environment["NVTX_INJECTION64_PATH"] == str(place.collector)


def test_the_software_gpu_brings_its_own_variables() -> None:
    place = Injection(PLACE.collector, PLACE.session, {"LD_LIBRARY_PATH": "/soft"})

    assert injected_environment(OPTIONS, {}, place)["LD_LIBRARY_PATH"] == "/soft"


def test_a_library_whose_path_cannot_be_preloaded_is_linked(tmp_path: Path) -> None:
    spaced = tmp_path / "my lib" / "libx.so"
    assert is_loadable(Path("/usr/lib/libx.so"))
    assert not is_loadable(spaced)
    assert linked(spaced, tmp_path) == tmp_path / "libx.so"
    assert (tmp_path / "libx.so").readlink() == spaced
    with pytest.raises(MachineError, match="cannot be preloaded"):
        linked(spaced, tmp_path / "a b")
