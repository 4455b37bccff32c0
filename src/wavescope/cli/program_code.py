"""The exit code of a recorded program, which counts more than what is said before and after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from wavescope.cli.terminal import drop_unwritable_output, machine_error, say_error
from wavescope.errors import WavescopeError
from wavescope.model.progress import Tell


def if_heard(tell: Tell) -> Tell:
    """`tell`, but a program runs also when nobody can read what is said of it."""

    def told(sentence: str) -> None:
        with suppress(OSError):
            tell(sentence)

    return told


@contextmanager
def program_code_kept() -> Iterator[None]:
    """What goes wrong in the block is told, if it can be: the program has done its work.

    Its terminal may be gone by now, or who read the pipe.
    """
    try:
        yield
    except WavescopeError as error:
        _say(error)
    except BrokenPipeError:
        pass
    except OSError as error:
        _say(machine_error(error))
    drop_unwritable_output()


def _say(error: WavescopeError) -> None:
    with suppress(OSError):
        say_error(error)
