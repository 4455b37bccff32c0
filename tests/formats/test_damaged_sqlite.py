"""SQLite traces with bytes changed at random: rows or a clear error, never anything else."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.test_rocpd import FIRST, HIP, LAUNCH, RocpdFile
from tests.formats.test_rpd import VERSION_3, two_sessions
from tests.formats.test_rpd import make_file as make_rpd
from tests.formats.test_rtl import make_file as make_rtl
from tests.formats.test_rtl import marker, op
from tests.registered import importer_called
from wavescope.errors import UnreadableInputError
from wavescope.formats import Importer
from wavescope.model.columns import CALLS, MARKERS, OPS, TABLES, ColumnType

RTL = importer_called("rocm-trace-lite")
RPD = importer_called("rocmProfileData")
ROCPD = importer_called("rocpd")


def rtl_file(path: Path) -> Path:
    rows = [op(i, i + 5, text="hwq=0x1 wg=1,1,1 grid=9,9,9", roctx=1) for i in range(300)]
    return make_rtl(path, [*rows, marker(0, 400, roctx=1)])


def rocpd_file(path: Path) -> Path:
    file = RocpdFile(path).add_part(FIRST, pid=10)
    for number in range(1, 60):
        file.event(FIRST, number, HIP, number, extdata='{"message": "m"}')
        file.add(FIRST, "rocpd_region", pid=10, start=1, end=2, name_id=LAUNCH, event_id=number)
        file.dispatch(FIRST, number, number + 1, event_id=number)
        file.add(FIRST, "rocpd_arg", event_id=number, position=0, name="n", value="v")
    return file.closed()


FORMATS = {
    "rtl": (RTL, rtl_file),
    "rpd": (RPD, partial(make_rpd, schema=VERSION_3, rows=two_sessions())),
    "rocpd": (ROCPD, rocpd_file),
}


@pytest.fixture(scope="module", params=FORMATS)
def sample(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Importer, bytes, Path]:
    importer, make = FORMATS[request.param]
    folder = tmp_path_factory.mktemp("damaged")
    return importer, make(folder / "whole.db").read_bytes(), folder / "damaged.db"


@settings(max_examples=60)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=30
    ),
    share=st.one_of(st.just(1.0), st.floats(0.2, 1)),
)
def test_changed_bytes_never_end_in_a_traceback(
    sample: tuple[Importer, bytes, Path], changes: list[tuple[float, int]], share: float
) -> None:
    importer, whole, path = sample
    damaged = bytearray(whole[: int(len(whole) * share)])
    for place, value in changes:
        damaged[16 + int(place * (len(damaged) - 16))] = value
    path.write_bytes(damaged)
    try:
        read_everything(importer, path)
    except UnreadableInputError as error:
        assert str(path) in str(error)


def read_everything(importer: Importer, path: Path) -> None:
    source = importer.open(path)
    try:
        for table in TABLES:
            for batch in source.batches(table):
                for column in table.columns:
                    assert batch[column.name].dtype == column.type.dtype
                    if column.type is ColumnType.STRING:
                        assert batch[column.name].max() < len(source.strings)
                if table in (OPS, MARKERS, CALLS):
                    assert (batch["end_ns"] >= batch["start_ns"]).all()
                    assert (np.diff(batch["id"]) > 0).all()
                if table is CALLS:
                    assert len(source.texts(batch["args"])) == len(batch["args"])
    finally:
        source.close()
