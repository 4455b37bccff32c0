"""`wavescope query`: rows in every format, and nothing but reading."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.unit.cli.conftest import HOSTILE_NAME, Run

OPS = "SELECT gpuId, start, end - start AS duration FROM rocpd_op WHERE gpuId >= 0 ORDER BY id"


def test_rows_as_a_table(run: Run, trace_file: Path) -> None:
    ran = run("query", trace_file, OPS)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "gpuId  start  duration\n"
        "-----  -----  --------\n"
        "    0   1000      1000\n"
        "    0   4000      3000\n"
        "    1   2000      4000\n"
    )


def test_rows_as_csv_markdown_and_json(run: Run, trace_file: Path) -> None:
    sql = "SELECT string, NULL AS void, x'00ff' AS raw FROM rocpd_string WHERE string LIKE 'ev%'"

    assert run("query", trace_file, sql, "--format", "csv").out == (
        'string,void,raw\n"evil\\n\\x1b[31m</script>|""name""",,00ff\n'
    )
    assert run("query", trace_file, sql, "--format", "csv", "--raw-text").out == (
        'string,void,raw\n"evil\n\x1b[31m</script>|""name""",,00ff\n'
    )
    assert run("query", trace_file, sql, "--format", "markdown").out == (
        "| string | void | raw |\n"
        "| --- | --- | --- |\n"
        "| evil\\\\n\\\\x1b\\[31m&lt;/script&gt;\\|\"name\" | NULL | x'00ff' |\n"
    )
    (table,) = json.loads(run("query", trace_file, sql, "--json").out)["tables"]
    assert [column["name"] for column in table["columns"]] == ["string", "void", "raw"]
    assert table["rows"] == [[HOSTILE_NAME, None, "00ff"]]
    assert table["total_rows"] == 1


def test_n_limits_the_rows(run: Run, trace_file: Path) -> None:
    assert run("query", trace_file, OPS, "-n", "1", "--format", "csv").out == (
        "gpuId,start,duration\n0,1000,1000\n"
    )


def test_no_rows_still_have_a_header(run: Run, trace_file: Path) -> None:
    assert run("query", trace_file, "SELECT 1 AS one WHERE 0").out == "one\n---\n"


def test_equal_looking_columns_keep_their_own_values(run: Run, trace_file: Path) -> None:
    sql = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 600) "
        "SELECT 1 AS x, CASE WHEN i > 550 THEN 2 ELSE 1 END AS x FROM n"
    )

    assert run("query", trace_file, sql).out.splitlines()[-1] == "1  2"


def test_sql_may_come_from_stdin(
    run: Run, trace_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 7 AS x"))

    assert run("query", trace_file, "-", "--format", "csv").out == "x\n7\n"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM rocpd_op", "only reading is allowed here"),
        ("DROP TABLE rocpd_op", "only reading is allowed here"),
        ("CREATE TEMP TABLE t AS SELECT 1", "only reading is allowed here"),
        ("ATTACH 'other.db' AS other", "only reading is allowed here"),
        ("PRAGMA writable_schema = 1", "only reading is allowed here"),
        ("PRAGMA user_version = 3", "only reading is allowed here"),
        ("VACUUM INTO 'copy.db'", "only reading is allowed here"),
        ("SELECT load_extension('x')", "only reading is allowed here"),
        ("UPDATE sqlite_master SET sql = ''", "table sqlite_master may not be modified"),
        ("BEGIN", "only reading is allowed here"),
        ("SELECT 1; SELECT 2", "give one SQL statement at a time"),
        ("SELECT 1; DELETE FROM rocpd_op", "give one SQL statement at a time"),
        ("", "the SQL statement is empty"),
        ("-- only a comment", "the SQL statement is empty"),
        ("SELEC 1", 'SQL: near "SELEC": syntax error'),
        ("SELECT * FROM nowhere", "SQL: no such table: nowhere"),
        ("SELECT absent FROM rocpd_op", "SQL: no such column: absent"),
        ("SELECT interrupted", "SQL: no such column: interrupted"),
        ("SELECT authorized FROM top", "SQL: no such column: authorized"),
        ("SELECT 1 FROM [not a database]", "SQL: no such table: not a database"),
        ("SELECT ?", "SQL: Incorrect number of bindings supplied"),
        ("SELECT 1 AS '\udcff'", "the SQL statement is not UTF-8 text\nhint: x'ff' is a value"),
    ],
)
def test_what_is_refused(
    run: Run, trace_file: Path, monkeypatch: pytest.MonkeyPatch, sql: str, message: str
) -> None:
    monkeypatch.chdir(trace_file.parent)
    before = hashlib.sha256(trace_file.read_bytes()).digest()

    ran = run("query", trace_file, sql)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert hashlib.sha256(trace_file.read_bytes()).digest() == before
    assert sorted(path.name for path in trace_file.parent.iterdir()) == ["trace.db"]


def test_the_catalogue_may_be_read(run: Run, trace_file: Path) -> None:
    sql = "SELECT name FROM pragma_table_info('rocpd_string')"

    assert run("query", trace_file, sql, "--format", "csv").out == "name\nid\nstring\n"
    assert run("query", trace_file, "PRAGMA table_info(rocpd_string)").code == 0


def test_raw_reads_a_foreign_database_as_it_is(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "foreign.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.execute("INSERT INTO mine VALUES (5)")
    connection.close()

    assert run("query", path, "SELECT x FROM mine", "--raw", "--format", "csv").out == "x\n5\n"
    assert run("query", path, "SELECT x FROM mine").code == 3


def test_raw_needs_a_database(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents": []}')

    ran = run("query", path, "SELECT 1", "--raw")

    assert ran.code == 3
    assert "it is not an SQLite database" in ran.err


def test_other_formats_are_converted_first(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    event = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 2}
    path.write_text(json.dumps({"traceEvents": [{**event, "args": {"device": 0, "stream": 7}}]}))

    ran = run("query", path, "SELECT Name, TotalCalls FROM ktop", "--format", "csv")

    assert ran.out == "Name,TotalCalls\ngemm,1\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.json"]


def test_a_damaged_database_is_unreadable(run: Run, trace_file: Path) -> None:
    data = bytearray(trace_file.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096] = 0x99
    trace_file.write_bytes(data)

    ran = run("query", trace_file, OPS, "--raw")

    assert ran.code == 3
    assert "the database is damaged" in ran.err


def holds_open(pid: int, path: Path) -> bool:
    """Whether a process has the file open."""
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if entry.readlink() == path:
                return True
    return False


def cpu_seconds(pid: int) -> float:
    """What a process has computed so far: unlike the clock, this tells how far it is."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_stops_a_search_that_gives_no_rows(trace_file: Path) -> None:
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "
        "SELECT count(*) FROM n WHERE i < 0"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "wavescope", "query", "--quiet", str(trace_file), endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    while process.poll() is None and not holds_open(process.pid, trace_file):
        time.sleep(0.02)
    searched_from = cpu_seconds(process.pid)
    while process.poll() is None and cpu_seconds(process.pid) < searched_from + 1:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)

    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")


def test_raw_text_is_not_for_people(run: Run, trace_file: Path) -> None:
    ran = run("query", trace_file, "SELECT 1", "--raw-text")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: --raw-text goes with --format csv\nhint: add --format csv\n"


def test_a_cell_or_a_column_is_no_formula(run: Run, trace_file: Path) -> None:
    sql = """SELECT '=cmd' AS "@name", '-3.5' AS number, -3.5 AS real"""

    assert run("query", trace_file, sql, "--format", "csv").out == (
        "'@name,number,real\n'=cmd,-3.5,-3.5\n"
    )
