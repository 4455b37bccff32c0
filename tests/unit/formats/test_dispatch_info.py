"""The text of rocm-trace-lite's completionSignal becomes seven numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.reference import dispatch_info as reference
from wavescope.formats.sqlite.text_column import TextColumn, parse_dispatch_info


def test_dispatch_texts_become_numbers() -> None:
    texts = TextColumn.from_strings(
        [
            "hwq=0x7e4d2e6bb000 wg=256,1,1 grid=131072,1,1",
            None,
            "",
            "grid=5,6,7 hwq=0xFFFFFFFFFFFFFFFE",
            "wg=12 grid=1,,3 more",
            "wg=9223372036854775807,9223372036854775808,0007",
            "xwg=1,1,1 hwq=0x10000000000000000",
        ]
    )

    rows = parse_dispatch_info(texts)

    assert rows.tolist() == reference.parse_dispatch_info(texts).tolist()
    assert rows.tolist() == [
        [0x7E4D2E6BB000, 256, 1, 1, 131072, 1, 1],
        [-1] * 7,
        [-1] * 7,
        [-2, -1, -1, -1, 5, 6, 7],
        [-1, 12, -1, -1, 1, -1, 3],
        [-1, 2**63 - 1, -1, 7, -1, -1, -1],
        [-1] * 7,
    ]


@given(
    st.lists(
        st.lists(
            st.sampled_from(
                [
                    "hwq=0x",
                    "wg=",
                    "grid=",
                    ",",
                    " ",
                    "7",
                    "a",
                    "F",
                    "0" * 20,
                    "9" * 19,
                    "-",
                    "\u00e9",
                ]
            ),
            max_size=14,
        ).map("".join),
        max_size=8,
    )
)
def test_dispatch_texts_are_parsed_as_by_the_reference(texts: list[str]) -> None:
    column = TextColumn.from_strings(texts)

    assert parse_dispatch_info(column).tolist() == reference.parse_dispatch_info(column).tolist()
