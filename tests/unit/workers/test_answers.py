"""What a worker answers: values, sentences for whatever went wrong, and their form as bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.workers.answers import Answer, answer_of, packed, unpacked
from wavescope.workers.tasks import Task

# Paths that are no valid UTF-8 have lone surrogates in them.
any_text = st.text(st.characters(codec=None, exclude_categories=()))


@given(st.none() | st.binary(), any_text, any_text, any_text)
def test_an_answer_survives_as_bytes(
    value: bytes | None, problem: str, details: str, hint: str
) -> None:
    answer = Answer(value, problem, details, hint=hint)

    assert unpacked(packed(answer)) == answer


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ("raise out of range", "a bug: ValueError: out of range"),
        ("raise two\nlines", "a bug: ValueError: two lines"),
        ("leave 3", "a bug: SystemExit: 3"),
        ("import no module of that name", "a bug: ImportError: no module of that name"),
        (
            "import zlib.so: failed to map segment from shared object",
            "it needs more memory than a worker may have",
        ),
        ("no-bytes", "a bug: TypeError: the task returned str, not bytes"),
        ("unreadable f.db", "cannot read f.db: the file is empty"),
        ("open /no/such.db", "cannot read /no/such.db: No such file or directory"),
    ],
)
def test_whatever_a_task_raises_is_a_sentence(item: str, problem: str) -> None:
    answer = answer_of("tests.worked_items:unlucky", item, b"")

    assert (answer.value, answer.problem, answer.is_lost) == (None, problem, False)
    assert answer.details.startswith("Traceback")


def test_what_to_do_about_a_problem_is_told_apart_from_it() -> None:
    assert answer_of("tests.worked_items:unlucky", "unreadable f.db", b"").hint == (
        "was the run killed?"
    )


def test_a_long_problem_is_cut() -> None:
    answer = answer_of("tests.worked_items:unlucky", "raise " + "x" * 10_000, b"")

    assert len(answer.problem) == 503
    assert answer.problem.endswith("xxx...")


def test_a_value_may_be_empty() -> None:
    assert unpacked(packed(Answer(b""))) == Answer(b"")


def test_a_task_that_is_not_there_is_a_bug() -> None:
    answer = answer_of("wavescope.nowhere:nothing", "item", b"")

    assert answer.problem == "a bug: ModuleNotFoundError: No module named 'wavescope.nowhere'"


@pytest.mark.parametrize("function", ["", "os", "os:", ":getcwd"])
def test_a_task_names_a_module_and_a_function(function: str) -> None:
    with pytest.raises(ValueError, match=r"is not of the form package\.module:name"):
        Task(function)
