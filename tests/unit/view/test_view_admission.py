"""Who the viewer's server answers: its own page with the right token, and nobody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.view_servers import PAGE, ask, send, served
from wavescope.view.server import ViewServer

FOREIGN_HOSTS = (
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "localhost.evil.example:8000",
    "127.0.0.2",
    "0.0.0.0",
    "[::2]:80",
    "localhost.",
    "localhost:80:80",
    "",
)


@pytest.fixture(scope="module")
def server() -> Iterator[ViewServer]:
    with served() as server:
        yield server


def test_the_page_is_at_the_address(server: ViewServer) -> None:
    reply = ask(server)

    assert (reply.status, reply.body.decode()) == (200, PAGE)
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert reply.headers["Content-Length"] == str(len(PAGE))


def test_the_address_is_on_loopback_with_192_random_bits(server: ViewServer) -> None:
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/t/([\w-]{32})/", server.address)

    assert found is not None
    assert int(found[1]) == server.port
    with served() as other:
        assert found[2] not in other.address


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_name_that_was_made_to_point_here_is_refused(server: ViewServer, host: str) -> None:
    for place in ("", "api/traces", "static/page.js"):
        assert ask(server, place, headers={"Host": host}).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "LOCALHOST:65535", "[::1]:80"])
def test_other_ports_are_welcome_as_tunnels_have_them(server: ViewServer, host: str) -> None:
    assert ask(server, headers={"Host": host}).status == 200
    assert ask(server, headers={"Host": host, "Origin": f"http://{host}"}).status == 200


def test_no_host_or_two_are_refused(server: ViewServer) -> None:
    path = urlsplit(server.address).path.encode()

    assert send(server, b"GET %s HTTP/1.1\r\n\r\n" % path).startswith(b"HTTP/1.1 403 ")
    two = b"GET %s HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n" % path
    assert send(server, two).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", ""])
def test_pages_of_other_origins_are_refused(server: ViewServer, origin: str) -> None:
    assert ask(server, headers={"Origin": origin}).status == 403


def test_another_port_is_another_origin(server: ViewServer) -> None:
    other = f"http://127.0.0.1:{server.port % 65535 + 1}"

    assert ask(server, headers={"Origin": other}).status == 403
    assert ask(server, headers={"Origin": f"http://127.0.0.1:{server.port}"}).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_what_other_pages_fetch_is_refused(server: ViewServer, site: str) -> None:
    for place in ("", "static/page.js", "api/traces"):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
        assert ask(server, place, headers=headers).status == 403
    framed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    assert ask(server, headers=framed).status == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_what_the_page_or_the_user_asks_is_answered(server: ViewServer, site: str) -> None:
    assert ask(server, "static/page.js", headers={"Sec-Fetch-Site": site}).status == 200


def test_a_link_elsewhere_may_lead_to_the_page_and_only_there(server: ViewServer) -> None:
    followed = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }

    assert ask(server, headers=followed).status == 200
    assert ask(server, "static/page.js", headers=followed).status == 403
    assert ask(server, "api/window?trace=0", headers=followed).status == 403


def test_without_the_token_there_is_nothing(server: ViewServer) -> None:
    path = urlsplit(server.address).path
    token = path.split("/")[2]
    wrong = [
        "/",
        "/t/",
        "/t//",
        "/favicon.ico",
        "/api/traces",
        "/static/page.js",
        f"/{token}/",
        f"/t/{token}",
        f"/t/{token[:-1]}/",
        f"/t/{token}x/",
        f"/t/{token.swapcase()}/",
        f"/t/x/../{token}/",
        f"/T/{token}/",
        f"http://127.0.0.1{path}",
        "/t/%00%ff/",
    ]

    refused = [ask(server, path=each) for each in wrong]

    assert [reply.status for reply in refused] == [404] * len(wrong)
    unknown = ask(server, "api/unheard_of")
    assert {reply.body for reply in refused} == {unknown.body}
    sentence = "there is nothing here; each start of `wavescope view` prints an address of its own"
    assert unknown.json == {"error": sentence, "hint": ""}


def test_every_answer_has_a_strict_policy_and_allows_no_other_origin(server: ViewServer) -> None:
    for reply in (
        ask(server),
        ask(server, "static/page.css"),
        ask(server, path="/"),
        ask(server, method="DELETE"),
        ask(server, headers={"Origin": "http://evil.example"}),
    ):
        policy = dict(
            rule.partition(" ")[::2]
            for rule in reply.headers["Content-Security-Policy"].split("; ")
        )
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self' data:",
            "connect-src": "'self'",
            "frame-ancestors": "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "require-trusted-types-for": "'script'",
            "trusted-types": "'none'",
        }
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert reply.headers["Cache-Control"] == "no-store"
        assert reply.headers["Server"] == "wavescope"
        assert [name for name in reply.headers if name.lower().startswith("access-control")] == []


def test_scripts_and_styles_are_files_of_the_package(server: ViewServer) -> None:
    script, style = ask(server, "static/page.js"), ask(server, "static/page.css")

    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert style.headers["Content-Type"] == "text/css; charset=utf-8"
    assert b"theme" in script.body and b"{" in style.body


@pytest.mark.parametrize(
    "name",
    [
        "../page.py",
        "../../../../etc/passwd",
        "%2e%2e/page.py",
        "..%2fpage.py",
        "timeline/types.d.ts",
        "timeline/../page.js",
        "./page.js",
        "/page.js",
        "timeline//page.js",
        "page.js/",
        "page.js%00",
        "page%2ejs",
        ".page.js",
        "page.JS",
        "absent.js",
        "timeline",
        "",
    ],
)
def test_nothing_else_is_a_file(server: ViewServer, name: str) -> None:
    assert ask(server, f"static/{name}").status == 404
