"""The viewer's server and a real browser: the way in, and what other pages cannot do."""

from __future__ import annotations

import queue
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser
from tests.sample_files import rich_trace, write_as
from tests.view_servers import PATIENCE_S, opened_view, served
from wavescope.cli.browser import shown_in_browser
from wavescope.view.server import ViewServer

HERE = "location.href"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.started() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ViewServer]:
    path = write_as(rich_trace(), tmp_path_factory.mktemp("safety") / "trace.db")
    with served(opened_view(path)) as server:
        yield server


def test_the_private_file_leads_to_the_page(
    browser: Browser, server: ViewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(webbrowser, "open", opened.put)

    with shown_in_browser(server.address):
        page = browser.page(opened.get(timeout=PATIENCE_S))
        page.becomes(HERE, server.address)
        page.becomes("document.title", "page")


def test_other_pages_get_nothing_even_with_the_token(
    browser: Browser, server: ViewServer, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.html"
    foreign.write_text("<!DOCTYPE html><title>foreign</title>")
    page = browser.page(foreign.as_uri())

    asked = f"fetch({server.address + 'api/sql'!r}, {{method: 'POST', body: '{{}}'}})"
    assert page.value(f"{asked}.then(() => 'read', () => 'refused')") == "refused"
    loaded = page.value(
        f"""new Promise((done) => {{
          const script = document.createElement("script");
          script.onload = () => done("ran");
          script.onerror = () => done("refused");
          script.src = {server.address + "static/page.js"!r};
          document.head.append(script);
        }})"""
    )
    assert loaded == "refused"
    page.value(
        f"""(() => {{ const frame = document.createElement("iframe");
        frame.src = {server.address!r}; document.body.append(frame); }})()"""
    )
    page.wait("window.frames.length === 1")
    title = "(() => { try { return frames[0].document.title; } catch { return 'refused'; } })()"
    page.becomes(title, "refused")


def test_the_page_runs_nothing_but_its_own_files(browser: Browser, server: ViewServer) -> None:
    page = browser.page(server.address)
    page.value(
        """(() => {
          const script = document.createElement("script");
          try { script.text = "window.attacked = 1"; document.head.append(script); } catch {}
          try { document.body.innerHTML = "<img src=x onerror='window.attacked = 2'>"; } catch {}
          try { setTimeout("window.attacked = 4", 0); } catch {}
          const image = new Image();
          image.src = "https://example.com/stolen";
        })()"""
    )
    refused = page.value("fetch('https://example.com/').then(() => false, () => true)")

    assert refused is True
    assert page.value("window.attacked") is None
    assert page.value("document.images.length") == 0
    page.complains_of("Content Security Policy", "ContentSecurityPolicy")
