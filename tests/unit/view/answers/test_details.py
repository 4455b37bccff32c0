"""What the page is told of one op, call or marker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.errors import UsageError
from wavescope.formats import exporter_for, open_trace, write_source
from wavescope.model.columns import KERNELS
from wavescope.model.trace import Trace
from wavescope.view.answers import Asked
from wavescope.view.answers.details import details
from wavescope.view.opening import loaded_view

FIRST = 2**60
GEMM = "void gemm_kernel<float, 4>(float const*, float*)"


def launched() -> TraceMaker:
    """Two gemms of GPU 0 and one of GPU 1, launched inside a module and a marked step."""
    maker = a_trace().with_process(41, rank=3, name="train").with_agent(0, model="MI300X")
    maker.builder.add_row(
        KERNELS, id=5, process=0, name=GEMM, vgprs=96, sgprs=32, lds_bytes=0, scratch_bytes=-1
    )
    maker.with_marker("step 1", FIRST, FIRST + 500).with_marker("forward", FIRST + 10, FIRST + 90)
    python = {"category": "python_function"}
    maker.with_call("nn.Module: Net_0", FIRST + 5, FIRST + 95, **python)
    maker.with_call("model.py(12): forward", FIRST + 6, FIRST + 94, **python)
    maker.with_call("nn.Module: Linear_0", FIRST + 7, FIRST + 60, **python)
    maker.with_call("aten::linear", FIRST + 20, FIRST + 50, category="cpu_op")
    maker.with_call(
        "hipLaunchKernel", FIRST + 30, FIRST + 40, args='{"stream": 7, "shared": 0}', return_code=0
    )
    grid = {"grid_x": 1024, "grid_y": 2, "grid_z": 1, "workgroup_x": 256, "workgroup_y": 1}
    maker.with_kernel(GEMM, FIRST + 100, FIRST + 200, **grid, workgroup_z=1, kernel=5, stream=7)
    maker.with_kernel(GEMM, FIRST + 130, FIRST + 150, gpu=1)
    maker.with_copy(FIRST + 210, FIRST + 310, size_bytes=400)
    maker.with_kernel(GEMM, FIRST + 400, FIRST + 420, queue=1, graph=9, graph_node=2)
    return maker.with_link(5, 1).with_link(5, 4).with_counter(1, "SQ_WAVES", 64.0)


def asked(trace: Trace, table: str, row: int) -> dict[str, Any]:
    view = loaded_view(trace)
    answer = details(Asked([view], {"table": table, "row": str(row)}))
    found: dict[str, Any] = json.loads(answer.body)
    return found


def facts(found: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each["value"] for each in found["facts"]}


def test_an_op_is_told_with_all_that_is_known_of_it() -> None:
    found = asked(launched().build(), "ops", 0)

    assert found["title"] == "gemm_kernel"
    assert (found["start"], found["duration"], found["rowId"]) == (100, 100, "queue/0/0")
    assert facts(found) == {
        "name": GEMM,
        "readable name": "gemm_kernel",
        "category": "GEMM",
        "kind": "kernel",
        "type": "KernelExecution",
        "note": "matrix product",
        "start": 100,
        "end": 200,
        "duration": 100,
        "timestamp": str(FIRST + 100),
        "GPU": 0,
        "model": "MI300X",
        "queue": 0,
        "stream": 7,
        "process": 41,
        "program": "train",
        "rank": 3,
        "grid": "1024 x 2 x 1",
        "workgroup": "256 x 1 x 1",
        "vector registers": 96,
        "scalar registers": 32,
        "static LDS": 0,
        "operator": "aten::linear",
        "module": "Net_0 > Linear_0",
        "Python call site": "model.py(12): forward",
        "SQ_WAVES": 64.0,
    }
    assert found["arguments"] == {"stream": 7, "shared": 0}


def test_an_op_is_linked_to_its_launch_and_the_markers_open_then() -> None:
    found = asked(launched().build(), "ops", 0)

    links = [(each["what"], each["table"], each["row"], each["name"]) for each in found["links"]]
    assert links == [
        ("launch", "calls", 4, "hipLaunchKernel"),
        ("marker", "markers", 0, "step 1"),
        ("marker", "markers", 1, "forward"),
    ]
    launch = found["links"][0]
    assert (launch["start"], launch["duration"], launch["rowId"]) == (30, 10, "calls/0/1")
    assert (launch["depth"], found["depth"]) == (4, 0)


def test_previous_and_next_are_of_the_same_kernel_and_gpu_on_any_queue() -> None:
    trace = launched().build()

    first, last = asked(trace, "ops", 0), asked(trace, "ops", 3)

    assert first["previous"] is None
    assert (first["next"]["row"], first["next"]["rowId"]) == (3, "queue/0/1")
    assert (first["next"]["start"], first["next"]["duration"]) == (400, 20)
    assert (last["previous"]["row"], last["next"]) == (0, None)
    assert asked(trace, "ops", 1)["next"] is None


def test_a_copy_has_size_and_bandwidth() -> None:
    found = asked(launched().build(), "ops", 2)

    told = facts(found)
    assert (told["size"], told["bandwidth"], told["kind"]) == (400, 4.0, "copy")
    assert told["category"] == "copy/fill"
    assert found["title"] == "CopyHostToDevice"
    assert found["links"] == []


def test_an_op_of_a_graph_names_graph_and_node() -> None:
    told = facts(asked(launched().build(), "ops", 3))

    assert (told["graph"], told["graph node"]) == (9, 2)


def test_a_call_names_its_ops_its_parent_and_its_arguments() -> None:
    found = asked(launched().build(), "calls", 4)

    told = facts(found)
    assert (told["launched ops"], told["return code"], told["operator"]) == (2, 0, "aten::linear")
    links = [(each["what"], each["table"], each["row"]) for each in found["links"]]
    assert links == [
        ("parent", "calls", 3),
        ("marker", "markers", 0),
        ("marker", "markers", 1),
        ("op", "ops", 0),
        ("op", "ops", 3),
    ]
    assert found["rowId"] == "calls/0/1"
    assert found["arguments"] == {"stream": 7, "shared": 0}


def test_of_many_ops_of_a_call_the_first_are_listed_and_all_are_counted() -> None:
    maker = a_trace().with_call("hipGraphLaunch", FIRST, FIRST + 5)
    for number in range(150):
        maker.with_kernel("k", FIRST + 10 * number, FIRST + 10 * number + 5)
        maker.with_link(1, number + 1)

    found = asked(maker.build(), "calls", 0)

    assert facts(found)["launched ops"] == 150
    assert [each["row"] for each in found["links"]] == list(range(100))


def test_a_marker_lies_in_those_around_it() -> None:
    found = asked(launched().build(), "markers", 1)

    assert (found["title"], found["start"], found["duration"]) == ("forward", 10, 80)
    assert [(each["what"], each["row"]) for each in found["links"]] == [("marker", 0)]
    assert found["rowId"] == "markers/0/1"


def test_a_marker_does_not_lie_in_those_that_begin_with_it_and_end_before_it() -> None:
    maker = a_trace().with_marker("decode", FIRST, FIRST + 90).with_marker("step", FIRST, FIRST + 9)
    maker.with_marker("the same time", FIRST, FIRST + 9)

    around = [
        [link["name"] for link in asked(maker.build(), "markers", n)["links"]] for n in range(3)
    ]

    assert around == [[], ["decode"], ["decode", "step"]]


def test_a_call_does_not_lie_in_a_marker_that_begins_with_it_and_ends_before_it() -> None:
    maker = (
        a_trace().with_marker("around", FIRST, FIRST + 90).with_marker("in it", FIRST, FIRST + 9)
    )
    maker.with_call("hipLaunchKernel", FIRST, FIRST + 20).with_kernel(GEMM, FIRST + 30, FIRST + 40)
    trace = maker.with_link(1, 1).build()

    for table in ("calls", "ops"):
        links = asked(trace, table, 0)["links"]
        assert [link["name"] for link in links if link["what"] == "marker"] == ["around"]


def test_copies_without_a_name_are_linked_to_by_their_type() -> None:
    maker = a_trace().with_call("hipMemcpyAsync", FIRST, FIRST + 10)
    maker.with_kernel(GEMM, FIRST + 20, FIRST + 30).with_copy(FIRST + 40, FIRST + 50)

    links = asked(maker.with_link(1, 1).with_link(1, 2).build(), "calls", 0)["links"]

    assert [link["name"] for link in links] == [GEMM, "CopyHostToDevice"]


def test_numbers_that_a_double_does_not_hold_come_as_text() -> None:
    trace = a_trace().with_kernel("k", 0, 2**53 + 1, stream=2**53, queue=2**60 + 1).build()

    told = facts(asked(trace, "ops", 0))

    assert told["duration"] == "9007199254740993"
    assert told["stream"] == 2**53
    assert told["queue"] == "1152921504606846977"


@pytest.mark.parametrize(
    ("args", "arguments"),
    [
        ("", {}),
        ('{"a": [1, 2]}', {"a": [1, 2]}),
        ("dst=0x7f, size=8", {"text": "dst=0x7f, size=8"}),
        ("[1, 2]", {"text": "[1, 2]"}),
        ('{"a": ' + " " * 70_000 + "1}", {"text": '{"a": ' + " " * 65_530, "left out": 4_472}),
    ],
)
def test_arguments_are_json_where_they_are(args: str, arguments: dict[str, Any]) -> None:
    trace = a_trace().with_call("hipMemcpy", 0, 5, args=args).build()

    assert asked(trace, "calls", 0)["arguments"] == arguments


def test_a_file_says_the_same_as_memory(tmp_path: Path) -> None:
    target = tmp_path / "trace.db"
    write_source(launched().builder, target, exporter_for(target), inputs=[])

    with open_trace(target) as trace:
        for table, count in (("ops", 4), ("calls", 5), ("markers", 2)):
            for row in range(count):
                assert asked(trace, table, row) == asked(launched().build(), table, row)


@pytest.mark.parametrize(("table", "row"), [("ops", 4), ("ops", -1), ("kernels", 0), ("calls", 99)])
def test_rows_that_are_not_there_are_an_error(table: str, row: int) -> None:
    with pytest.raises(UsageError, match="there is no"):
        asked(launched().build(), table, row)
