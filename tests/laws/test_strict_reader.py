"""`check` counts lines and rows like a strict reader, on files with planted faults.

The strict reader is Python's csv module. Where it refuses a record, the record's first line of text is a line, and
reading goes on with the next. The rows of `check` are those of a release; they are also the strict reader's where it
refuses nothing and no quote follows a space, which opens a quoted field for the engine alone.

Left out are bytes that are not UTF-8 behind a closing quote; files without a last line end whose last quote is open, as
the engine takes the last byte for the quote; and a carriage return by itself in files of one column, and in those whose
header ends in two letters, where the engine drops the letter after it. There too, `check` counts the rows of a release.
"""

import csv
import gzip
import io
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.custodian import Custody
from gaugedp.tables.files import File
from gaugedp.tables.line_faults import EMPTY, LONG, LONGEST_LINE, NOT_UTF8, OTHER, SHORT, LineCount, count_lines
from tests.laws.kit import batches, generator

COVERS = {"commands": {"check"}}
LAW = "strict_reader"
MORE = 9  # files of a case whose rows no engine counts
FIELDS = [
    b"",
    b"1",
    b"x y",
    b" 7",
    b"a'b",
    b'"a"',
    b'"a,b"',
    b'"say ""so"""',
    b'"two\nlines"',
    b'""',
    "é".encode(),
    b"\x00",
]
FAULTS = {
    "unclosed": b'"open',
    "after a quote": b'"a"b',
    "quote inside": b'5" wide',
    "space before a quote": b' "a,b"',
    "not UTF-8": b"caf\xe9",
}
ENDS = [[b"\n"], [b"\r\n"], [b"\r\n", b"\n"], [b"\n", b"\r\n", b"\r"]]  # that of the header first
SWAPPED = bytes.maketrans(b"\"'", b"'\"")
HEADERS = ["A", "B b", "C", "D"]


def content(rng: np.random.Generator, delimiter: bytes) -> bytes:
    """Return a file of up to 30 lines: most are well, and the faults of this file are some of all."""
    n_fields = int(rng.integers(1, 5))
    faults = [FAULTS[name] for name in rng.choice(list(FAULTS), rng.integers(0, 4), replace=False)]
    shapes = rng.choice(["few", "many", "trailing", "empty"], rng.integers(0, 3), replace=False)
    shapes = ["long"] if rng.random() < 0.02 else shapes
    ends = ENDS[rng.integers(len(ENDS) if n_fields > 1 else 3)]
    lines = [delimiter.join(name.encode() for name in HEADERS[:n_fields])]
    for _ in range(rng.integers(0, 30)):
        fields = [FIELDS[place] for place in rng.integers(0, len(FIELDS), n_fields)]
        if faults and rng.random() < 0.15:
            fields[rng.integers(n_fields)] = faults[rng.integers(len(faults))]
        lines.append(
            misshapen(fields, str(rng.choice(shapes)) if len(shapes) and rng.random() < 0.1 else "", delimiter)
        )
    bom = b"\xef\xbb\xbf" if rng.random() < 0.2 else b""
    return bom + lines[0] + ends[0] + b"".join(line + ends[rng.integers(len(ends))] for line in lines[1:])


def misshapen(fields: list[bytes], shape: str, delimiter: bytes) -> bytes:
    """Return a line of these fields that has a fault of shape."""
    if shape == "long":
        fields = [b"y" * (LONGEST_LINE + 99), *fields[1:]]
    line = delimiter.join(fields)
    return {"few": fields[0], "many": line + delimiter + b"8", "trailing": line + delimiter, "empty": b""}.get(
        shape, line
    )


def strict_lines(data: bytes, delimiter: str) -> tuple[list[tuple[int, list[str]]], bool]:
    """Return (number of its first line of text, fields) of each line below the header, and whether none was refused."""
    texts = list(io.StringIO(data.decode("latin-1"), newline=""))
    lines, is_strict, place = [], True, 0
    while place < len(texts):
        reader = csv.reader(iter(texts[place:]), delimiter=delimiter, strict=True)
        try:
            fields, read = next(reader), reader.line_num
        except csv.Error:
            fields, read, is_strict = [], 1, False
        lines.append((place + 1, fields))
        place += read
    return lines[1:], is_strict


def fault_of(fields: list[str], n_fields: int) -> str:
    """Return why a line of a strict reader is no row, by the documented rule; "" for a row."""
    needed = ",".join(fields[:n_fields])
    if len(needed) >= LONGEST_LINE:
        return LONG
    if len(fields) < n_fields and not (n_fields == 1 and not fields):
        return SHORT if fields else EMPTY
    return "" if re.sub(r"Ã©", "", needed).isascii() else NOT_UTF8


def checked(path: Path, column: str, form: TextFormat = PLAIN) -> tuple[Custody, int]:
    """Return what check says of a file, and how many rows a release counts."""
    domain = replace(gd.Domain.of(**{column: gd.categories(["1"], "other")}), text_format=form)
    table = gd.Table.scan(path, domain=domain)
    return gd.check(table), int(table.totals([Aggregate(())], b"")[0].sum())


@pytest.fixture(autouse=True)
def long_fields():
    """Let Python's reader have fields of any length."""
    before = csv.field_size_limit(2**30)
    yield
    csv.field_size_limit(before)


@pytest.mark.slow
@pytest.mark.parametrize("cases", batches(LAW), ids=lambda cases: f"{cases.start}-{cases.stop - 1}")
def test_lines_and_rows_are_those_of_a_strict_reader(cases: range, tmp_path: Path) -> None:
    for case in cases:
        rng = generator(LAW, case)
        for number in range(1 + MORE):
            ending, delimiter = [(".csv", ","), (".tsv", "\t"), (".csv.gz", ","), (".csv", ";"), (".csv", "|")][
                rng.integers(5)
            ]
            form = TextFormat(separator="" if delimiter in ",\t" else delimiter, quote="'" if case % 3 == 0 else '"')
            data = content(rng, delimiter.encode())
            path = tmp_path / f"rows{ending}"
            stored = data if form.quote == '"' else data.translate(SWAPPED)
            path.write_bytes(gzip.compress(stored, 1) if ending.endswith(".gz") else stored)
            name = f"case {case}, file {number}, {form}: {data[:500]!r}"
            count = count_lines(File.find(path, form))
            judge(data, delimiter, count, name)
            if number == 0:
                custody, released = checked(path, HEADERS[0], form)
                assert custody.lines == count, name
                assert custody.n_rows == released == count.n_rows, name


def judge(data: bytes, delimiter: str, count: LineCount, name: str) -> None:
    """Insist that the lines are those of a strict reader; the rows too, where it refuses nothing."""
    lines, is_strict = strict_lines(data, delimiter)
    n_fields = data.splitlines()[0].count(delimiter.encode()) + 1
    assert count.n_lines == len(lines), name
    assert all(cause.reason != OTHER and cause.first for cause in (*count.lost, *count.read_otherwise)), name
    if is_strict and not re.search(rb'(^|[,\t\r\n]) "', data):
        faults = [(fault_of(fields, n_fields), first) for first, fields in lines]
        numbers = Counter(fault for fault, _ in faults if fault)
        firsts = {fault: first for fault, first in reversed(faults)}
        assert {cause.reason: (cause.lines, cause.first) for cause in count.lost} == {
            fault: (number, firsts[fault]) for fault, number in numbers.items()
        }, name
        assert count.n_rows == len(lines) - sum(numbers.values()), name


def test_the_sentence_of_the_documentation(tmp_path: Path) -> None:
    rows = ["1,a,100"] * 80
    rows[25] = '1,"a,100'
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["SEX,NOTE,PAY", *rows, ""]), "utf-8")
    custody, released = checked(path, "SEX")
    assert released == 25
    assert custody.lines is not None
    assert custody.lines.sentences() == [
        "80 lines, 55 of them are not rows: 54 after an unclosed quote at line 27, "
        "1 with fewer fields than the header at line 27."
    ]
