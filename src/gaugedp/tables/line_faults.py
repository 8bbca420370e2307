"""Lines of a text file that are not rows.

The lines of a strict CSV reader are compared with the rows of the engine. A line is a record as Python's csv module has
it with strict=True: a field that begins with a quote ends with one, and may contain line ends. If the strict reader
refuses a record, its first line of text is a line, and reading continues with the next. The engine refuses nothing
(gaugedp.tables.duckdb): it opens a quote after a space too, drops what follows a closing quote, and is in a quoted
field until the next quote. Both readers are followed at the same time; whenever neither is in a quoted field, the lines
so far are compared with the rows so far.
"""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gaugedp._internal.progress import Progress, silent
from gaugedp.tables.files import File

LONGEST_LINE = 2_000_000  # bytes with the line end, of a record that the engine reads: its max_line_size
EMPTY = "empty"
SHORT = "with fewer fields than the header"
NOT_UTF8 = "with bytes that are not UTF-8"
LONG = f"of more than {LONGEST_LINE:,} bytes"
AFTER_QUOTE = "after an unclosed quote"
AFTER_OTHERS = "after other unclosed quotes"
EXTRA = "with more fields than the header"
BEHIND_QUOTE = "with text after a closing quote"
OTHER = "for another reason in the engine"
INSIDE = "from inside the quoted fields of a line"
_NO_QUOTE = "\uffff"  # no byte
_START, _SPACE, _PLAIN, _QUOTED, _CLOSED, _BROKEN = range(6)  # positions of a reader within a field


@dataclass(frozen=True)
class Cause:
    """Reason for lost or differing lines: count, first line (header 1)."""

    reason: str
    lines: int
    first: int

    def __str__(self) -> str:
        if not self.first:
            return f"{self.lines:,} {self.reason}"
        is_exact = self.lines == 1 or self.reason == AFTER_QUOTE
        place = f"at line {self.first:,}" if is_exact else f"(first at line {self.first:,})"
        return f"{self.lines:,} {self.reason} {place}"


@dataclass(frozen=True)
class LineCount:
    """Lines of a text file: lost ones, and differing rows.

    The header is not counted. The rows are the lines minus the lost ones, plus, if an unclosed quote turns the inside
    of a quoted field into rows, those.
    """

    n_lines: int
    lost: tuple[Cause, ...]
    read_otherwise: tuple[Cause, ...]

    @property
    def n_lost(self) -> int:
        """Number of lines that are not rows."""
        return sum(cause.lines for cause in self.lost)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.n_lines - self.n_lost + sum(each.lines for each in self.read_otherwise if each.reason == INSIDE)

    def of_engine(self, n_rows: int) -> "LineCount":
        """Return the count, adjusted to the engine's `n_rows`."""
        lost = self.n_rows - n_rows
        if lost > 0:
            return replace(self, lost=(*self.lost, Cause(OTHER, lost, 0)))
        return replace(self, read_otherwise=(*self.read_otherwise, Cause(INSIDE, -lost, 0))) if lost else self

    def sentences(self) -> list[str]:
        """Describe the lost lines and the rows read otherwise."""
        said = []
        if lost := ", ".join(map(str, self.lost)):
            are_lost = "lines that are not rows" if self.n_lost == 1 else f"{self.n_lost:,} of them are not rows"
            said.append(f"{self.n_lines:,} line{'s' * (self.n_lines != 1)}, {are_lost}: {lost}.")
        if otherwise := ", ".join(map(str, self.read_otherwise)):
            said.append(f"Rows that a strict reader reads differently: {otherwise}.")
        return said


def count_lines(file: File, on_progress: Progress = silent) -> LineCount:
    """Count the lines of a text file, or raise OSError, EOFError or zlib.error."""
    n_fields = len(file.header())
    tally = _Tally(n_fields, file.delimiter, file.text_format.quote or _NO_QUOTE)
    tally.add(_lines(file, n_fields, on_progress))
    return tally.counted()


def _lines(file: File, n_fields: int, on_progress: Progress) -> Iterator[str]:
    """Yield lines of text without ends, bytes as letters."""
    size = max(file.path.stat().st_size, 1)
    with file.open(n_fields) as (stored, content), io.TextIOWrapper(content, encoding="latin-1", newline="") as text:
        for number, line in enumerate(text):
            yield line.rstrip("\r\n")
            if number % 2**16 == 0:  # between two progress reports
                on_progress(stored.tell() / size)


@dataclass
class _Record:
    """Partial record of the engine, from line `first`."""

    first: int
    fields: int = 1
    size: int = 0
    is_text: bool = True
    has_tail: bool = False  # text after a closing quote


@dataclass
class _Causes:
    """Numbers of lines by reason, with the first of each."""

    counts: dict[str, list[int]] = field(default_factory=dict)

    def add(self, reason: str, lines: int, first: int) -> None:
        self.counts.setdefault(reason, [0, first])[0] += lines

    def all(self) -> tuple[Cause, ...]:
        causes = [Cause(reason, *count) for reason, count in self.counts.items()]
        return tuple(sorted(causes, key=lambda cause: -cause.lines))


class _Tally:
    """Lines of a strict reader and records of the engine."""

    def __init__(self, n_fields: int, delimiter: str, quote: str) -> None:
        self.n_fields, self.delimiter, self.quote, self.number = n_fields, delimiter, quote, 0
        mark, inside = re.escape(delimiter), f"[^{quote}]*"
        self.tokens = re.compile(f"{quote}|{mark}| |[^{quote} {mark}]+")
        self.closed_fields = re.compile(f"(^|{mark}){quote}{inside}(?:{quote}{quote}{inside})*{quote}(?={mark}|$)")
        self.n_lines, self.lost, self.otherwise = -1, _Causes(), _Causes()  # the header is not counted
        self.record: _Record | None = None  # unfinished record of the engine
        self.passed: int | None = None  # lines of text after the first of the strict reader's unfinished record
        self._begin()

    def _begin(self) -> None:
        self.start, self.lines, self.rows, self.causes = self.number + 1, 0, 0, _Causes()

    def add(self, lines: Iterable[str]) -> None:
        """Read lines; those equal for both readers are fast."""
        for line in lines:
            plain = self.closed_fields.sub(r"\1", line) if self.quote in line else line
            is_awkward = self.quote in plain or self.record is not None or self.passed is not None
            is_text = len(line) < LONGEST_LINE and _is_utf8(line)
            if is_awkward or plain.count(self.delimiter) + 1 != self.n_fields or not is_text:
                self._add(line)
            else:
                self.number += 1
                self.n_lines += 1
                self.start += 1

    def counted(self) -> LineCount:
        if self.record is not None:
            self._end(self.record, "")
        if self.passed is not None:
            self.lines += 1 + self.passed
        self._compare()
        return LineCount(self.n_lines, self.lost.all(), self.otherwise.all())

    def _add(self, line: str) -> None:
        """Read a line by both readers, and compare if possible."""
        self.number += 1
        self._read_strictly(line)
        self._read(line)
        if self.record is None and self.passed is None:
            self._compare()

    def _read_strictly(self, line: str) -> None:
        if self.passed is not None:
            state = self._after(line, _QUOTED)
            if state == _QUOTED:
                self.passed += 1
                return
            self.lines += 1 if state != _BROKEN else 1 + self.passed
            self.passed = None
            if state != _BROKEN:
                return
        if self._after(line, _START) == _QUOTED:
            self.passed = 0
        else:
            self.lines += 1

    def _after(self, line: str, state: int) -> int:
        for token in self.tokens.findall(line) if self.quote in line else ():
            state = self._next(state, token)
            if state == _SPACE:
                state = _PLAIN
            elif state == _BROKEN:
                break
        return state

    def _next(self, state: int, token: str) -> int:
        """Return a reader's position in a field after a token."""
        if state == _QUOTED:
            return _CLOSED if token == self.quote else _QUOTED
        if token == self.delimiter:
            return _START
        if token == self.quote and state != _PLAIN:
            return _QUOTED
        if state in (_CLOSED, _BROKEN):
            return _BROKEN
        return _SPACE if token == " " and state == _START else _PLAIN

    def _read(self, line: str) -> None:
        state = _START if self.record is None else _QUOTED
        record = self.record = self.record or _Record(self.number)
        for token in self.tokens.findall(line):
            state = self._next(state, token)
            record.fields += state == _START
            record.is_text &= record.fields > self.n_fields or _is_utf8(token)
            record.has_tail |= state == _BROKEN
        record.size += len(line) + 1
        if state != _QUOTED:
            self._end(record, line)

    def _end(self, record: _Record, line: str) -> None:
        self.record = None
        reason = self._fault(record, line)
        if reason:
            self.causes.add(reason, 1, record.first)
            return
        self.rows += 1
        for reason, differs in ((EXTRA, record.fields > self.n_fields), (BEHIND_QUOTE, record.has_tail)):
            if differs:
                self.otherwise.add(reason, 1, record.first)

    def _fault(self, record: _Record, line: str) -> str:
        if record.first == 1:
            return ""
        if record.size > LONGEST_LINE:
            return LONG
        if record.fields < self.n_fields:
            return EMPTY if record.first == self.number and not line else SHORT
        return "" if record.is_text else NOT_UTF8

    def _compare(self) -> None:
        """Compare lines with rows; others are lost to unclosed quotes."""
        lost = self.lines - self.rows
        for reason, (count, first) in self.causes.counts.items():
            by_itself = min(count, max(lost, 0))
            if by_itself:
                self.lost.add(reason, by_itself, first)
                lost -= by_itself
        if lost > 0:
            self.lost.add(AFTER_OTHERS if AFTER_QUOTE in self.lost.counts else AFTER_QUOTE, lost, self.start)
        elif lost < 0:
            self.otherwise.add(INSIDE, -lost, self.start)
        self.n_lines += self.lines
        self._begin()


def _is_utf8(line: str) -> bool:
    try:
        return line.isascii() or bool(line.encode("latin-1").decode())
    except UnicodeDecodeError:
        return False
