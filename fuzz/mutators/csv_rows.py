"""Damage to CSV: columns dropped, text for numbers, ragged rows, quotes, encodings."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from random import Random

from fuzz.mutators import raw_bytes, values

Rows = list[list[str]]


def mutate(random: Random, content: bytes) -> bytes:
    """The table after some changes; damaged bytes where it is none."""
    try:
        rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    except (UnicodeDecodeError, csv.Error):
        return raw_bytes.mutate(random, content)
    for _ in range(random.choice((1, 1, 2, 5))):
        if rows and rows[0]:
            rows = random.choice(_CHANGES)(random, rows)
    return _encoded(random, _text(random, rows))


def _text(random: Random, rows: Rows) -> str:
    stream = io.StringIO()
    quoting = csv.QUOTE_ALL if random.random() < 0.3 else csv.QUOTE_MINIMAL
    end = random.choice(("\r\n", "\r", "\0\n")) if random.random() < 0.1 else "\n"
    delimiter = random.choice((";", "\t")) if random.random() < 0.02 else ","
    csv.writer(stream, quoting=quoting, lineterminator=end, delimiter=delimiter).writerows(rows)
    return stream.getvalue()


def _encoded(random: Random, text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    choice = random.random()
    if choice < 0.03:
        return b"\xef\xbb\xbf" + content
    if choice < 0.05:
        return text.encode("utf-16", "surrogatepass")
    if choice < 0.06:
        return b"\xfe\xff" + text.encode("utf-16-be", "surrogatepass")
    if choice < 0.07:
        return content.rstrip(b"\n")
    return content


def _cell_value(random: Random, cell: str) -> str:
    return random.choice(
        (
            str(values.integer(random)),
            str(random.choice(values.LARGER_INTEGERS)),
            values.text(random),
            values.text(random),
            "-" + cell,
            cell + ".5",
            cell * 3,
            cell[:-1],
            f" {cell} ",
            f"{cell}e5",
            '"' + cell,
            cell + "\x00",
        )
    )


def _one_cell(random: Random, rows: Rows) -> Rows:
    row = random.choice(rows)
    if row:
        column = random.randrange(len(row))
        row[column] = _cell_value(random, row[column])
    return rows


def _one_column(random: Random, rows: Rows) -> Rows:
    column = random.randrange(len(rows[0]))
    value = _cell_value(random, "7")
    return [rows[0], *([*row[:column], value, *row[column + 1 :]] for row in rows[1:])]


def _dropped_column(random: Random, rows: Rows) -> Rows:
    column = random.randrange(len(rows[0]))
    return [[*row[:column], *row[column + 1 :]] for row in rows]


def _dropped_name(random: Random, rows: Rows) -> Rows:
    column = random.randrange(len(rows[0]))
    return [[*rows[0][:column], *rows[0][column + 1 :]], *rows[1:]]


def _renamed_column(random: Random, rows: Rows) -> Rows:
    head = list(rows[0])
    column = random.randrange(len(head))
    names = (values.text(random), head[column].lower(), random.choice(head), head[column] + " ")
    head[column] = random.choice(names)
    return [head, *rows[1:]]


def _doubled_column(random: Random, rows: Rows) -> Rows:
    column = random.randrange(len(rows[0]))
    return [[*row, *row[column : column + 1]] for row in rows]


def _ragged(random: Random, rows: Rows) -> Rows:
    at = random.randrange(len(rows))
    row = rows[at]
    short = row[: random.randrange(len(row) + 1)]
    rows[at] = random.choice((short, [*row, *row], [], [""] * len(row), [*row, "", ""]))
    return rows


def _wide(random: Random, rows: Rows) -> Rows:
    """Far more columns than any tool writes."""
    more = [f"x{number}" for number in range(random.choice((300, 2_100, 20_000)))]
    return [[*rows[0], *more], *([*row, *[""] * len(more)] for row in rows[1:5])]


def _never_closed(random: Random, rows: Rows) -> Rows:
    """A quote in a cell before many lines that are no rows."""
    at = random.randrange(len(rows))
    broken = [[random.choice(('"a', "a", '"', ""))] for _ in range(random.choice((50, 2_000)))]
    return [*rows[:at], *broken, *rows[at:]]


def _dropped_rows(random: Random, rows: Rows) -> Rows:
    first = random.randrange(len(rows))
    return rows[:first] + rows[first + random.choice((1, 5, len(rows))) :]


def _doubled_rows(random: Random, rows: Rows) -> Rows:
    return rows + [list(random.choice(rows)) for _ in range(random.choice((1, 3, 100)))]


def _shuffled(random: Random, rows: Rows) -> Rows:
    return [rows[0], *random.sample(rows[1:], len(rows) - 1)]


_CHANGES: tuple[Callable[[Random, Rows], Rows], ...] = (
    _one_cell,
    _one_cell,
    _one_cell,
    _one_column,
    _one_column,
    _dropped_column,
    _dropped_column,
    _dropped_name,
    _renamed_column,
    _doubled_column,
    _ragged,
    _wide,
    _never_closed,
    _dropped_rows,
    _doubled_rows,
    _shuffled,
)
