"""Damage to a request of HTTP: its line, parameters, heads and body, and several at once."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from fuzz.mutators import json_values, raw_bytes, values

_METHODS = (
    b"POST",
    b"GET",
    b"HEAD",
    b"PUT",
    b"OPTIONS",
    b"CONNECT",
    b"get",
    b"",
    b"\xff",
    b"G" * 9_000,
)
_VERSIONS = (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.1.1", b"HTTP/9e9", b"HTTP/1.\xb2", b"")  # fmt: skip
_STEPS = (b"..", b"%2e%2e", b"", b"x" * 70_000, b"%00", b"\\..\\", b"static", b"api", b"sql", b"\xff")  # fmt: skip
_HEADS = (
    b"Host: evil.example",
    b"Host: 127.0.0.1",
    b"Origin: null",
    b"Origin: http://localhost",
    b"Sec-Fetch-Site: cross-site",
    b"Content-Length: 0",
    b"Content-Length: 7",
    b"Content-Length: -1",
    b"Content-Length: 9999999999999999999999",
    b"Content-Length: \xd9\xa3",
    b"Transfer-Encoding: chunked",
    b"Content-Type: application/json; charset=utf-16",
    b"Content-Type: text/plain",
    b"Connection: close",
    b"Connection: keep-alive, close",
    b"Expect: 100-continue",
    b"Upgrade: h2c",
    b"Range: bytes=0-1",
    b" folded: x",
    b"no colon",
    b": no name",
    b"a\0b: \x1b[31m",
    b"X: " + b"y" * 70_000,
)


@dataclass(frozen=True)
class _Request:
    method: bytes
    path: bytes
    query: bytes
    version: bytes
    heads: tuple[bytes, ...]
    body: bytes

    def text(self, random: Random) -> bytes:
        """What is sent, mostly with the length that the body has."""
        end = b"\n" if random.random() < 0.05 else b"\r\n"
        mark = b"?" if self.query else b""
        heads = self.heads
        if self.body and random.random() < 0.9:
            heads = (*heads, b"Content-Length: %d" % len(self.body))
        line = b" ".join(filter(None, (self.method, self.path + mark + self.query, self.version)))
        return end.join((line, *heads, b"", self.body))


def mutate(random: Random, content: bytes) -> bytes:
    """One request, or some after each other, each with a few changes."""
    request = _parsed(content)
    if request is None:
        return raw_bytes.mutate(random, content)
    sent = []
    for _ in range(random.choice((1, 1, 1, 2, 9))):
        changed = request
        for _ in range(random.choice((0, 1, 1, 2, 5))):
            changed = random.choice(_CHANGES)(random, changed)
        sent.append(changed.text(random))
    return b"".join(sent)


def _parsed(content: bytes) -> _Request | None:
    head, _, body = content.partition(b"\r\n\r\n")
    line, *heads = head.split(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3:
        return None
    path, _, query = words[1].partition(b"?")
    kept = tuple(each for each in heads if not each.lower().startswith(b"content-length"))
    return _Request(words[0], path, query, words[2], kept, body)


def _other_line(random: Random, request: _Request) -> _Request:
    if random.random() < 0.5:
        return replace(request, method=random.choice(_METHODS))
    return replace(request, version=random.choice(_VERSIONS))


def _other_path(random: Random, request: _Request) -> _Request:
    steps = request.path.split(b"/")
    at = random.randrange(len(steps))
    new = random.choice((*_STEPS, steps[at] + b".", steps[at].upper(), steps[at][:-1]))
    path = b"/".join((*steps[:at], new, *steps[at + random.choice((0, 1)) :]))
    return replace(request, path=random.choice((path, path, b"http://localhost" + path)))


def _other_parameter(random: Random, request: _Request) -> _Request:
    """One parameter with another value, gone, or given again."""
    pairs = request.query.split(b"&")
    at = random.randrange(len(pairs))
    name = pairs[at].partition(b"=")[0]
    value = random.choice((str(values.integer(random)), values.text(random), values.text(random)))
    spelled = urllib.parse.quote(value[:2_000]) if random.random() < 0.9 else "%zz%ff+;"
    new = name + b"=" + spelled.encode()
    changed = random.choice(([new], [new], [new], [], [pairs[at], new], [new] * 70))
    return replace(request, query=b"&".join((*pairs[:at], *changed, *pairs[at + 1 :])))


def _other_heads(random: Random, request: _Request) -> _Request:
    at = random.randrange(len(request.heads) + 1)
    new = random.choice(([], [random.choice(_HEADS)], [random.choice(_HEADS)] * 120))
    kept = request.heads[at + random.choice((0, 1)) :]
    return replace(request, heads=(*request.heads[:at], *new, *kept))


def _other_body(random: Random, request: _Request) -> _Request:
    change = random.choice((json_values.mutate, json_values.mutate, raw_bytes.mutate))
    return replace(request, body=change(random, request.body or b'{"sql": "SELECT 1"}'))


_CHANGES: tuple[Callable[[Random, _Request], _Request], ...] = (
    _other_line,
    _other_path,
    _other_parameter,
    _other_parameter,
    _other_parameter,
    _other_heads,
    _other_heads,
    _other_body,
)
