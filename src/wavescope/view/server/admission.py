"""Who is let in: requests of the page that this server gave out, and no others.

The token is in the path, so that no other user of the machine can guess an address. Host, Origin
and Sec-Fetch-Site keep out web pages that make the user's own browser ask for them, also under a
name that was made to point here (DNS rebinding).
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from email.message import Message
from http import HTTPStatus

TOKEN_BYTES = 24
_OWN_HOST = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.ASCII | re.IGNORECASE)
_FROM_HERE = {"same-origin", "none"}
_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
ANSWER_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer, refusals included; none allows another origin anything."""
_SENTENCES = {
    HTTPStatus.FORBIDDEN: "only the page of this server may ask it",
    HTTPStatus.NOT_FOUND: "there is nothing here; each start of `wavescope view` prints an address "
    "of its own",
    HTTPStatus.METHOD_NOT_ALLOWED: "this is asked in another way",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "the body is to be JSON",
    HTTPStatus.LENGTH_REQUIRED: "the length of the body is not told",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the body is too long",
    HTTPStatus.SERVICE_UNAVAILABLE: "too many questions at once; ask again",
}


def new_token() -> str:
    """What the address of a server begins with: 192 random bits."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class RefusedError(Exception):
    """A request is not answered but with this status and a sentence."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(_SENTENCES.get(status, status.phrase))
        self.status = status


def admitted_place(path: str, headers: Message, token: str) -> str:
    """What follows `/t/TOKEN/` in the path of a request that may be answered.

    A wrong token is refused as a path is that leads nowhere.
    """
    place = _place_in(path, token)
    if not _is_from_own_page(headers, is_page=place == ""):
        raise RefusedError(HTTPStatus.FORBIDDEN)
    if place is None:
        raise RefusedError(HTTPStatus.NOT_FOUND)
    return place


def _place_in(path: str, token: str) -> str | None:
    given, slash, place = path.removeprefix("/t/").partition("/")
    is_known = hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())
    return place if is_known and slash and path.startswith("/t/") else None


def _is_from_own_page(headers: Message, *, is_page: bool) -> bool:
    hosts = headers.get_all("Host", [])
    if len(hosts) != 1 or _OWN_HOST.fullmatch(hosts[0]) is None:
        return False
    if any(origin != f"http://{hosts[0]}" for origin in headers.get_all("Origin", [])):
        return False
    sites = headers.get_all("Sec-Fetch-Site", [])
    return all(site in _FROM_HERE for site in sites) or (is_page and _is_followed_link(headers))


def _is_followed_link(headers: Message) -> bool:
    """Whether the browser shows the answer as a page of its own, which no other page can read."""
    modes, aims = (headers.get_all(f"Sec-Fetch-{what}", []) for what in ("Mode", "Dest"))
    return modes == ["navigate"] and aims == ["document"]
