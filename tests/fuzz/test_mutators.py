"""Mutators give another input of any input, the same for the same seed."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from fuzz.inputs import Input, Special, read_folder, state_of, write_input
from fuzz.mutators import http_requests, mutated, option_words
from fuzz.mutators.all_mutators import mutated_file
from tests.sample_files import SAMPLES

CONTENTS = {
    "empty.json": b"",
    "a.json": b'{"a": [1, {"b": "c"}], "d": null}',
    "b.csv": b"a,b\n1,2\n3,4\n",
    "c.toml": b"[[rule]]\nmatch = 'a'\n",
    "d.facts": b'{"fact": "a"}\n{"fact": "b"}\n',
    "e.pb": b"\x08\x96\x01\x12\x07testing",
    "f.ops": b"WAVESCP1" + bytes(100),
    "g.json.gz": gzip.compress(b'{"a": 1}', mtime=0),
    "h.zip": b"PK nonsense",
    "i.bin": b"\x00\xff" * 9,
    "j.http": b"GET /t/token/api/traces?a=1&b=2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "k.sql": b"SELECT a, 'b c' FROM d WHERE e = 1",
    "words.json": b'{"summary": [["trace.db"], ["--by", "--end"]], "metrics": [[], ["--table"]]}',
}


@pytest.mark.parametrize("name", CONTENTS)
def test_any_content_can_be_changed_again_and_again(name: str) -> None:
    made = [_changed_twice(name, seed) for seed in range(30)]

    assert len(set(made)) > 5
    assert made[:5] == [_changed_twice(name, seed) for seed in range(5)]


def _changed_twice(name: str, seed: int) -> bytes:
    random = Random(seed)
    return mutated_file(random, name, mutated_file(random, name, CONTENTS[name]))


def test_a_damaged_request_mostly_has_the_length_of_its_body() -> None:
    whole = b'POST /t/token/api/sql HTTP/1.1\r\nHost: localhost\r\n\r\n{"sql": "SELECT 1"}'
    sent = [http_requests.mutate(Random(seed), whole) for seed in range(200)]

    assert sum(b"Content-Length: 19\r\n" in each for each in sent) > 100
    assert any(each.count(b"POST /t/token/") > 1 for each in sent)


def test_command_lines_are_of_options_that_there_are() -> None:
    lines = [
        json.loads(option_words.mutate(Random(seed), CONTENTS["words.json"])) for seed in range(50)
    ]

    assert {line[0] for line in lines} == {"summary", "metrics"}
    assert {
        word.partition("=")[0]
        for line in lines
        for word in line
        if word.startswith(("--by", "--end", "--table"))
    } >= {"--by", "--end", "--table"}


def test_cells_of_a_database_are_changed(tmp_path: Path) -> None:
    whole = SAMPLES["wavescope"](tmp_path).read_bytes()
    path = tmp_path / "changed.db"
    found = set()
    for seed in range(30):
        path.write_bytes(mutated_file(Random(seed), "trace.db", whole))
        with closing(sqlite3.connect(path)) as connection:
            found.add(_rows(connection))

    assert len(found) > 4


def test_a_database_with_a_schema_that_is_no_text_is_changed(tmp_path: Path) -> None:
    whole = (
        SAMPLES["wavescope"](tmp_path).read_bytes().replace(b"CREATE TABLE", b"CREATE \xce\xceBLE")
    )

    assert mutated_file(Random(1), "trace.db", whole) != whole
    assert len({mutated_file(Random(seed), "trace.db", whole) for seed in range(20)}) > 4


def _rows(connection: sqlite3.Connection) -> str:
    try:
        return str(connection.execute("SELECT * FROM rocpd_op").fetchall())
    except sqlite3.Error as error:
        return type(error).__name__


def test_folders_are_changed_and_written(tmp_path: Path) -> None:
    sample = Input({"a.json": b"{}", "b/c.csv": b"a,b\n"})
    kinds = set()
    for seed in range(100):
        made = mutated(Random(seed), sample)
        write_input(made, tmp_path / str(seed))
        kinds |= {type(entry) for entry in made.files.values()}

    assert kinds == {bytes, Special}


def test_what_a_command_changes_is_seen(tmp_path: Path) -> None:
    path = write_input(Input({"a.json": b"{}", "b": Special.FIFO}, "a.json"), tmp_path / "input")
    before = state_of(tmp_path / "input")

    path.write_text(json.dumps([1]))

    after = state_of(tmp_path / "input")
    assert {name for name in after if after[name] != before[name]} == {str(path)}
    assert read_folder(tmp_path / "input").files["a.json"] == b"[1]"
