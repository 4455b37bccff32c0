"""A headless Chromium for tests, spoken to through its DevTools pipe; nothing else is needed.

with Browser.started() as browser:
    page = browser.page(path.as_uri())
    page.value("document.title")
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

TIMEOUT_S = 300
"""Of one answer: generous, because a loaded machine is no failure."""
STARTS = 3
"""How often a browser is started that ends or hangs before its first answer: it is not under test."""
_LOADS = 3
"""How often a page is loaded while the machine's network changes."""
_OTHER_NETWORK = "net::ERR_NETWORK_CHANGED"
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    # Otherwise a click before the first frame is drawn, which a busy machine draws late, is lost.
    "--allow-pre-commit-input",
    # A page is as quick behind another page, or on a machine that is slow, as it is elsewhere.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    # One process draws all pages: starting two for each takes a quarter of what a small page costs.
    "--disable-site-isolation-trials",
    "--renderer-process-limit=1",
    # Nothing of the machine is asked or kept: keys, accounts, reports of crashes.
    "--disable-breakpad",
    "--disable-sync",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
    "--remote-debugging-pipe",
)
_MODIFIERS = {"alt": 1, "ctrl": 2, "meta": 4, "shift": 8}


def chromium_path() -> str | None:
    """The browser's program, or None where there is none."""
    return next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


class RefusedCommandError(AssertionError):
    """The browser did not do what it was told to."""


class SilentBrowserError(AssertionError):
    """The browser ended, or gave no answer for very long."""


class Browser:
    """A running browser; commands are answered in order, events are kept."""

    def __init__(
        self, process: subprocess.Popen[bytes], commands: int, answers: int, log: Path
    ) -> None:
        self._process, self._commands, self._answers = process, commands, answers
        self._log = log
        self._has_answer = select.poll()
        self._has_answer.register(answers, select.POLLIN)
        self._number = 0
        self._buffer = bytearray()
        self.events: list[dict[str, Any]] = []
        self._pages: list[PageView] = []

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[Browser]:
        """A browser with a profile of its own, ended afterwards; a skip where there is none."""
        program = chromium_path()
        if program is None:
            pytest.skip("no Chromium here: apt-get install chromium")
        with ExitStack() as stack:
            for start in range(1, STARTS + 1):
                browser = stack.enter_context(cls._started_once(program))
                try:
                    browser.call("Browser.getVersion")
                    break
                except SilentBrowserError:
                    stack.close()
                    if start == STARTS:
                        raise
            yield browser

    @classmethod
    @contextmanager
    def _started_once(cls, program: str) -> Iterator[Browser]:
        to_browser, commands = _pipe()
        answers, from_browser = _pipe()
        with tempfile.TemporaryDirectory(
            prefix="wavescope-browser-", ignore_cleanup_errors=True
        ) as home:
            log = Path(home, "stderr.txt")
            command = [program, *_FLAGS, f"--user-data-dir={home}", "about:blank"]
            with log.open("wb") as errors:
                process = subprocess.Popen(
                    [
                        "bash",
                        "-c",
                        f'exec "$@" 3<&{to_browser} 4>&{from_browser}',
                        "bash",
                        *command,
                    ],
                    pass_fds=(to_browser, from_browser),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    env={**os.environ, "HOME": home},
                    start_new_session=True,
                )
            os.close(to_browser)
            os.close(from_browser)
            try:
                yield cls(process, commands, answers, log)
            finally:
                _end(process)
                os.close(commands)
                os.close(answers)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """The answer to one command."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        try:
            _write_all(self._commands, json.dumps(message).encode() + b"\0")
        except BrokenPipeError as error:
            raise SilentBrowserError(self._how_it_is()) from error
        while True:
            answer = self._next(TIMEOUT_S)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RefusedCommandError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def page(
        self, address: str = "", *, width: int = 1440, height: int = 1000, dark: bool = False
    ) -> PageView:
        """A new page that has loaded `address`."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = PageView(self, target, session)
        self._pages.append(page)
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        page.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        if address:
            page.open(address)
        return page

    def close_pages(self) -> None:
        """Close all pages that are open, and forget what was said of them."""
        for page in self._pages:
            page.close()
        self._pages.clear()
        self.events.clear()

    def _next(self, timeout_s: float) -> dict[str, Any]:
        end = time.monotonic() + timeout_s
        while b"\0" not in self._buffer:
            left = end - time.monotonic()
            ready = left > 0 and self._has_answer.poll(1000 * left)
            part = os.read(self._answers, 1 << 20) if ready else b""
            if not part:
                raise SilentBrowserError(self._how_it_is())
            self._buffer += part
        message, _, rest = self._buffer.partition(b"\0")
        self._buffer = rest
        found: dict[str, Any] = json.loads(message)
        return found

    def _how_it_is(self) -> str:
        said = self._log.read_text(errors="replace")[-2000:]
        return f"the browser says nothing (exit code {self._process.poll()}): {said}"


class PageView:
    """One page: what it shows, and what a reader does with it."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser, self._target, self._session = browser, target, session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def open(self, address: str) -> None:
        """Load a page to its end: anew where the machine's network changed meanwhile, as it does
        when another test makes one."""
        for _ in range(_LOADS):
            if self.call("Page.navigate", url=address).get("errorText") != _OTHER_NETWORK:
                break
        self._until(self._is_loaded, f"never loaded: {address}")

    def _is_loaded(self) -> bool:
        is_complete = "document.readyState === 'complete' && location.href !== 'about:blank'"
        try:
            return bool(self.value(is_complete))
        except RefusedCommandError:  # the page before is on its way out
            return False

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise's when it is there."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Return when the expression is true."""
        self._until(lambda: bool(self.value(expression)), f"never true: {expression}")

    def becomes(self, expression: str, expected: Any) -> None:
        """Return when the expression has this value: what is clicked or typed may act later."""
        self._until(lambda: self.value(expression) == expected, f"never {expected}: {expression}")

    def complains_of(self, *words: str) -> None:
        """Return when something was said against the page that has one of the words."""
        self._until(
            lambda: any(word in text for text in self.complaints() for word in words),
            f"nothing was said of {words}",
        )

    def _until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        end = time.monotonic() + TIMEOUT_S
        while not is_so():
            assert time.monotonic() < end, f"{otherwise}; {self.complaints()}"
            time.sleep(0.02)

    def size(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def key(self, key: str) -> None:
        """Press and release a key on what has the focus."""
        code = (
            ord(key.upper()) if len(key) == 1 else {"Enter": 13, "Home": 36, "Tab": 9}.get(key, 0)
        )
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type_text(self, selector: str, text: str) -> None:
        """Put text into a field as if it were typed."""
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click with the pointer on the middle of an element."""
        x, y = self.middle(selector)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def middle(self, selector: str) -> tuple[float, float]:
        """Where an element is, scrolled into view."""
        found = self.value(
            f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}}); const r = e.getBoundingClientRect();
            return [r.left + r.width / 2, r.top + r.height / 2]; }})()"""
        )
        return float(found[0]), float(found[1])

    def mouse(self, kind: str, x: float, y: float, *, hold: str = "", **more: Any) -> None:
        self.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            modifiers=_MODIFIERS.get(hold, 0),
            **more,
        )

    def seen(self, **how: Any) -> bytes:
        """What the window shows, as PNG unless `format` says otherwise."""
        data = self.call("Page.captureScreenshot", **{"format": "png", **how})["data"]
        return base64.b64decode(data)

    def complaints(self) -> list[str]:
        """Everything the console, the policy or a failed request said against the page."""
        self.value("new Promise((done) => setTimeout(done, 50))")
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            kind, details = event["method"], event["params"]
            if kind == "Runtime.exceptionThrown":
                found.append(str(details["exceptionDetails"]))
            elif kind == "Runtime.consoleAPICalled" and details["type"] in {
                "error",
                "warning",
                "assert",
            }:
                found.append(str(details["args"]))
            elif kind == "Log.entryAdded" and details["entry"]["level"] in {"error", "warning"}:
                found.append(str(details["entry"]))
            elif kind == "Audits.issueAdded":
                found.append(str(details["issue"]))
        return found

    def requests(self) -> list[str]:
        """The addresses the page asked for, data in the page itself aside."""
        found = [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("sessionId") == self._session
            and event["method"] == "Network.requestWillBeSent"
        ]
        return [address for address in found if not address.startswith("data:")]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the browser and whatever it started."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are not 3 and 4, which the browser uses."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
