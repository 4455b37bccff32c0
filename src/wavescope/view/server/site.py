"""What lies behind the addresses: the page, its scripts and styles, answers to questions."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from wavescope.errors import WavescopeError
from wavescope.package_files import package_file
from wavescope.render.results.json_text import json_bytes, json_for_pages
from wavescope.view.answers import JSON, Answer, Asked
from wavescope.view.opening import StillReadingError, TraceView
from wavescope.view.server.admission import RefusedError
from wavescope.view.server.questions import POSTED, QUESTIONS, question

MOST_RUNNING = 16
TURN_S = 60.0
_HTML = "text/html; charset=utf-8"
_API = "api/"
_STATIC = "static/"
_STATIC_FOLDER = ("render", "html", "static")
_STATIC_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_STATIC_NAME = re.compile(r"(?:\w[\w-]*/)*\w[\w-]*(\.js|\.css)", re.ASCII)
"""No dots but the last: neither other folders nor hidden files have such a name."""

OnBug = Callable[[Exception], object]
Reply = tuple[HTTPStatus, Answer]


def tell_no_bug(error: Exception) -> None:
    """For those who do not want to hear of bugs."""
    del error


@dataclass(frozen=True)
class Site:
    """The opened traces and their page; `on_bug` hears what should never have happened."""

    views: Sequence[TraceView]
    page: bytes
    on_bug: OnBug = tell_no_bug
    _running: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(MOST_RUNNING), repr=False
    )

    def reply(self, place: str, asked: Asked, *, is_posted: bool) -> Reply:
        """The answer to what is asked at `place`."""
        if place.startswith(_API):
            return self._answered(place.removeprefix(_API), asked, is_posted=is_posted)
        found = _static_file(place.removeprefix(_STATIC)) if place.startswith(_STATIC) else None
        if not place:
            found = Answer(self.page, _HTML)
        if found is None:
            raise RefusedError(HTTPStatus.NOT_FOUND)
        if is_posted:
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED)
        return HTTPStatus.OK, found

    def _answered(self, name: str, asked: Asked, *, is_posted: bool) -> Reply:
        places, others = (POSTED, QUESTIONS) if is_posted else (QUESTIONS, POSTED)
        if name not in places:
            is_other = name in others
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED if is_other else HTTPStatus.NOT_FOUND)
        try:
            with self._turn():
                return HTTPStatus.OK, _fit(question(places[name])(asked))
        except StillReadingError as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, problem(str(error), error.hint)
        except WavescopeError as error:
            return HTTPStatus.BAD_REQUEST, problem(str(error), error.hint)
        except RefusedError:
            raise
        except MemoryError:
            sentence = "there is not enough memory to answer this"
        except OSError as error:
            sentence = f"the machine refused it: {error.strerror or type(error).__name__}"
        except Exception as error:  # noqa: BLE001  the page shows it, and goes on
            self.on_bug(error)
            sentence = f"sorry, this is a bug in wavescope: {type(error).__name__}"
        return HTTPStatus.INTERNAL_SERVER_ERROR, problem(sentence)

    def take_all_turns(self) -> None:
        """Come back when nobody has a turn; nobody gets one from then on."""
        for _ in range(MOST_RUNNING):
            self._running.acquire()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """As many questions at once as the machine can bear."""
        if not self._running.acquire(timeout=TURN_S):
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE)
        try:
            yield
        finally:
            self._running.release()


def _fit(answer: Answer) -> Answer:
    """The answer without what would act on the page, or hide or reverse its text."""
    if answer.content_type != JSON or answer.stream is not None:
        return answer
    return replace(answer, body=json_for_pages(answer.body))


def problem(sentence: str, hint: str = "") -> Answer:
    """What the page is told in place of an answer."""
    return _fit(Answer(json_bytes({"error": sentence, "hint": hint})))


def _static_file(name: str) -> Answer | None:
    """The file called `name`; None where there is none."""
    found = _STATIC_NAME.fullmatch(name)
    path = package_file(*_STATIC_FOLDER, *name.split("/")) if found else None
    if found is None or path is None:
        return None
    return Answer(path.read_bytes(), _STATIC_TYPES[found[1]])
