"""What operators were given, as the profiler writes it, whatever the file makes of it."""

from __future__ import annotations

import json

import pytest

from tests.builders import a_trace
from wavescope.analyze.calls.call_inputs import RecordedInputs, recorded_inputs


def inputs_of(*texts: str) -> list[RecordedInputs]:
    maker = a_trace()
    for start, text in enumerate(texts):
        maker.with_call("aten::mm", start, start + 1, category="cpu_op", args=text)
    return recorded_inputs(maker.build(), range(len(texts)))


def test_sizes_types_strides_and_values_are_read_in_order() -> None:
    text = json.dumps(
        {
            "Input Dims": [[2, 3], [], [[4, 5], [6]]],
            "Input type": ["float", "Scalar", "TensorList"],
            "Input Strides": [[3, 1], [], [[5, 1], [1]]],
            "Concrete Inputs": ["", "1", ""],
            "Ev Idx": 7,
        }
    )

    assert inputs_of(text) == [
        RecordedInputs(
            dims=((2, 3), (), ((4, 5), (6,))),
            types=("float", "Scalar", "TensorList"),
            strides=((3, 1), (), ((5, 1), (1,))),
            scalars=("", "1", ""),
        )
    ]


def test_calls_that_differ_by_id_only_share_what_they_were_given() -> None:
    texts = [json.dumps({"Ev Idx": index, "Input Dims": [[2, 3]]}) for index in range(3)]

    first, *rest = inputs_of(*texts)

    assert first.dims == ((2, 3),)
    assert all(other is first for other in rest)


def test_rows_may_repeat_in_any_order() -> None:
    maker = a_trace()
    for size in (2, 3):
        args = json.dumps({"Input Dims": [[size]]})
        maker.with_call("aten::mm", size, size + 1, category="cpu_op", args=args)

    found = recorded_inputs(maker.build(), [1, 0, 1])

    assert [each.dims for each in found] == [((3,),), ((2,),), ((3,),)]
    assert recorded_inputs(maker.build(), []) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", RecordedInputs()),
        ("gridX=1", RecordedInputs()),
        ("[1, 2]", RecordedInputs()),
        ('{"Input Dims": 5, "Input type": {"a": 1}}', RecordedInputs()),
        ('{"Input Dims": [[2, "x"], 7, null, [4]]}', RecordedInputs(dims=((), (), (), (4,)))),
        ('{"Input Dims": [[-1, 2], [true], [1.5], [3]]}', RecordedInputs(dims=((), (), (), (3,)))),
        ('{"Input Dims": [[99999999999999999999]]}', RecordedInputs(dims=((),))),
        ('{"Input type": ["float", 3, null]}', RecordedInputs(types=("float", "", ""))),
        ('{"Input Dims": [' + "[" * 2000 + "]" * 2000 + "]}", RecordedInputs()),
    ],
)
def test_hostile_arguments_are_nothing(text: str, expected: RecordedInputs) -> None:
    assert inputs_of(text) == [expected]


def test_values_that_look_like_ids_within_a_text_are_told_apart() -> None:
    texts = [
        json.dumps({"Ev Idx": value, "Concrete Inputs": [f'{{"Ev Idx": {value}}}', str(value)]})
        for value in (1, 2)
    ]
    texts.append('{"Ev Idx": 01, "Concrete Inputs": ["3"]}')
    texts.append('{"Ev Idx": 1, "Concrete Inputs": ["3"]}')

    assert [each.scalars for each in inputs_of(*texts)] == [
        ('{"Ev Idx": 1}', "1"),
        ('{"Ev Idx": 2}', "2"),
        (),
        ("3",),
    ]


def test_what_is_asked_for_again_is_the_same_object() -> None:
    maker = a_trace()
    for start in range(3):
        args = json.dumps({"Ev Idx": start, "Input Dims": [[4]]})
        maker.with_call("aten::mm", start, start + 1, category="cpu_op", args=args)
    trace = maker.build()

    (first,) = recorded_inputs(trace, [1])

    assert all(each is first for each in recorded_inputs(trace, [2, 0, 1]))
