"""Source files: format, content, header, and whether they changed."""

import csv
import gzip
import hashlib
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, cast

from gaugedp._internal.names import in_quotes
from gaugedp._internal.postgres import is_no_path
from gaugedp.domain.text_format import PLAIN, SEPARATORS, TextFormat
from gaugedp.errors import UnreadableTable
from gaugedp.tables.headers import check_is_text
from gaugedp.tables.refusals import unfinished
from gaugedp.tables.tuning import TUNED

TEXTS = {".csv": "CSV", ".tsv": "TSV"}
PACKINGS = {"": "none", ".gz": "gzip", ".zst": "zstd"}
FORMATS = {".parquet": "Parquet", **{kind + end: name for kind, name in TEXTS.items() for end in PACKINGS}}
_STRAY = {end: re.compile(stray) for end, stray in ((b"\n", rb"(\r)"), (b"\r\n", rb"(\r)(?!\n)"), (b"\r", rb"(\n)"))}
_PARQUET = (".parquet", ".parq", ".pq")
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")


@dataclass(frozen=True)
class File:
    """Existing file: absolute path, and "Parquet", "CSV" or "TSV". A folder may have Parquet files in partitions."""

    path: Path
    format: str
    text_format: TextFormat = PLAIN

    @classmethod
    def find(cls, path: str | Path, text_format: TextFormat = PLAIN) -> "File":
        """Return the file at `path`, by its name's format."""
        if is_no_path(str(path)):  # not repeated: it may contain a password
            raise UnreadableTable(
                "The source is neither the path of a file nor the address of a database.",
                "Pass a path, or postgresql://user@host/database?table=people as text.",
            )
        path = Path(path)
        if _is(path, Path.is_dir):
            if not parquet_files(path):
                raise UnreadableTable(f"{str(path)!r} is a folder without Parquet files.", "Pass a single file.")
            return cls(path.resolve(), "Parquet", text_format)
        suffix = "".join(path.suffixes[-2:] if path.suffix.lower() in PACKINGS else path.suffixes[-1:]).lower()
        if suffix in _WORKBOOKS:
            raise UnreadableTable(
                f"{str(path)!r} is a spreadsheet, which cannot be read.",
                "Save its sheet as CSV UTF-8, and describe semicolons, decimal commas and dates under [file] in the "
                "domain file.",
            )
        if suffix not in FORMATS:
            raise UnreadableTable(
                f"{str(path)!r} has an unknown format.",
                f"Pass a file ending in {', '.join(FORMATS)}; in Excel, save it as CSV UTF-8.",
            )
        if not _is(path, Path.is_file):
            raise UnreadableTable(f"There is no file {str(path)!r}.", "Check the path.")
        if path.suffix.lower() == ".zst" and find_spec("pyarrow") is None:
            raise UnreadableTable(
                f"{str(path)!r} is compressed with zstd, which needs pyarrow.", "Install pyarrow, or unpack the file."
            )
        return cls(path.resolve(), FORMATS[suffix], text_format)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Path of the file, or of all files of a folder."""
        return parquet_files(self.path) if self.path.is_dir() else (self.path,)

    @property
    def packing(self) -> str:
        """Compression of the file: none, gzip or zstd."""
        return PACKINGS.get(self.path.suffix.lower(), "none")

    @property
    def delimiter(self) -> str:
        """Delimiter between two fields."""
        return self.text_format.separator or ("\t" if self.format == "TSV" else ",")

    def is_read_as_stored(self, n_columns: int) -> bool:
        """Return True if the engine can read the stored text itself."""
        return self.text_format.encoding == PLAIN.encoding and n_columns > 1

    @contextmanager
    def open(self, n_columns: int) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file as stored, and its unpacked content in UTF-8, which each row of one column has one line of."""
        with self.path.open("rb") as stored, _unpacked(stored, self.packing) as unpacked:
            is_utf8 = self.text_format.encoding == PLAIN.encoding
            content = unpacked if is_utf8 else _buffered(_in_utf8(unpacked, self.text_format.encoding))
            yield stored, content if n_columns > 1 else _buffered(_of_one_column(content))

    def header(self) -> list[str]:
        """Return the names in the first line, reading nothing else."""
        self._check_is_text()
        line = _first_line(self._start())
        if line is None:
            raise UnreadableTable(
                f"The header of {str(self.path)!r} cannot be read.", "Write it in UTF-8, on one line."
            )
        if (separator := self._likely(line)) != self.delimiter:
            raise UnreadableTable(
                f"{SEPARATORS[separator]} seem to separate the values of {str(self.path)!r}, unlike its format states.",
                f"Write separator = {in_quotes(separator)} under [file] in the domain file, or put a name that has one "
                "in quotes.",
            )
        quote = self.text_format.quote
        quoting = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
        try:
            names = next(csv.reader([line], delimiter=self.delimiter, strict=True, **quoting), [])
        except csv.Error:
            names = []
        if not names:
            raise UnreadableTable(f"{str(self.path)!r} has no header.", "Write the column names in its first line.")
        return names

    def likely(self) -> TextFormat:
        """Return the format that the first line suggests; nothing else is read."""
        self._check_is_text()
        file, line = self, _first_line(self._start())
        if line is None:
            file = replace(self, text_format=TextFormat(encoding="windows-1252"))
            line = _first_line(file._start()) or ""
        separator = file._likely(line)
        return file.text_format if separator == file.delimiter else replace(file.text_format, separator=separator)

    def _likely(self, line: str) -> str:
        """Return the separator, or a mark that occurs more often outside of quotes."""
        quote = self.text_format.quote
        bare = re.sub(f"{quote}(?:[^{quote}]|{quote * 2})*{quote}", "", line) if quote else line
        others = ";\t|," if self.text_format.separator else {"TSV": ";"}.get(self.format, ";\t|")
        counts = {mark: bare.count(mark) for mark in (self.delimiter, *others)}
        return max(counts, key=lambda mark: counts[mark])

    def _check_is_text(self) -> None:
        check_is_text(replace(self, text_format=PLAIN)._start() or b"", str(self.path))

    def _start(self) -> bytes | None:
        try:
            with self.open(n_columns=2) as (_, content):  # their number is not known yet
                return content.read(2**20)
        except (OSError, EOFError, ValueError, zlib.error):
            return None


class _Stream(io.RawIOBase):
    """Chunks of bytes as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._chunk = chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read from one chunk."""
        self._chunk = self._chunk or memoryview(next(filter(None, self._chunks), b""))
        size = min(len(buffer), len(self._chunk))
        buffer[:size], self._chunk = self._chunk[:size], self._chunk[size:]
        return size


def _buffered(chunks: Iterator[bytes]) -> IO[bytes]:
    return cast(IO[bytes], io.BufferedReader(_Stream(chunks)))


def _in_utf8(content: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Convert text of a single-byte encoding. A byte without a letter stays, and is not UTF-8."""
    while part := content.read(TUNED.text_bytes):
        yield part.decode(encoding, "surrogateescape").encode("utf-8", "surrogateescape")


def _of_one_column(content: IO[bytes]) -> Iterator[bytes]:
    """Replace the letters that end a line, but not as the header's line ends, by form feeds.

    Python's csv module does not quote a carriage return if lines end in a line feed, nor the reverse. The engine ends a
    line at both: the text of one row would be many rows, as no column is missing.
    """
    held, stray = b"", re.compile(rb"(?!)")
    while part := content.read(TUNED.text_bytes):
        text = held + part
        held = text[-1:] if text.endswith(b"\r") else b""  # a line feed may follow
        text = text[: len(text) - len(held)]
        if not stray.groups and (end := re.search(rb"\r\n|[\r\n]", text)):
            stray = _STRAY[end[0]]
        yield stray.sub(b"\f", text)
    yield stray.sub(b"\f", held)


def _unpacked(stored: IO[bytes], packing: str) -> AbstractContextManager[IO[bytes]]:
    if packing == "zstd":
        import pyarrow

        return cast(AbstractContextManager[IO[bytes]], pyarrow.input_stream(stored, compression="zstd"))
    return nullcontext(stored) if packing == "none" else cast(IO[bytes], gzip.GzipFile(fileobj=stored))


def parquet_files(folder: Path) -> tuple[Path, ...]:
    """Return the Parquet files of a folder and its partitions, each once; hidden and temporary ones are left out."""
    found, is_whole, reached = list[Path](), True, set[str]()
    for place, folders, names in os.walk(folder.resolve(), followlinks=True, onerror=partial(_refuse_closed, folder)):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        inside = [Path(place, name) for name in names if not _is_hidden(name)]
        paths = [path for path in inside if path.name.lower().endswith(_PARQUET)]
        found += paths
        is_whole &= all(_is(path, Path.exists) for path in inside)
        is_whole &= all(path.suffix.lower() == ".parquet" and _is(path, Path.is_file) for path in paths)
        _reach((Path(place), *paths), reached, folder)
    if not is_whole:
        raise UnreadableTable(
            f"{str(folder)!r} has a broken link, or a file that ends in .parq or .pq.",
            "Repair or remove the links, and rename such files to .parquet.",
        )
    return tuple(sorted(found))


def _refuse_closed(folder: Path, _: OSError) -> None:
    """Refuse a folder with a part that cannot be listed, whose name may be a value of the data."""
    raise UnreadableTable(
        f"{str(folder)!r} contains a folder that you may not read.", "Obtain permission to read it."
    ) from None


def _reach(paths: Iterable[Path], reached: set[str], folder: Path) -> None:
    """Refuse a folder or file that was reached already: each of its rows would count twice."""
    for path in paths:
        real = os.path.realpath(path)
        if real in reached:
            raise UnreadableTable(
                f"A link in {str(folder)!r} leads to the same files a second time, so rows would be counted twice.",
                "Remove the link.",
            )
        reached.add(real)


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _first_line(start: bytes | None) -> str | None:
    try:
        return None if start is None else start.splitlines()[0].decode("utf-8-sig") if start else ""
    except UnicodeDecodeError:
        return None


def _is(path: Path, kind: Callable[[Path], bool]) -> bool:
    try:
        return kind(path)
    except OSError:  # such as a name that is too long
        return False


@dataclass(frozen=True)
class SourceFiles:
    """Local files, and the `recipe` for rows, or ""."""

    paths: tuple[Path, ...]
    recipe: str = ""

    @property
    def name(self) -> str:
        """Name that identifies these rows, whatever the files' state."""
        return "\0".join([*map(str, self.paths), self.recipe])

    def state(self) -> str:
        """Return place, size and modification time of the files."""
        text = "\n".join(map(_state, self.paths))
        return text if len(self.paths) == 1 else hashlib.sha256(text.encode()).hexdigest()


def _state(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        raise unfinished() from None
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
