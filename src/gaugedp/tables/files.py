"""Source files: format, header, and whether they changed."""

import csv
import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from gaugedp._internal.postgres import is_no_path
from gaugedp.errors import UnreadableTable
from gaugedp.tables.headers import check_is_text
from gaugedp.tables.refusals import unfinished

FORMATS = {".parquet": "Parquet", ".csv": "CSV", ".tsv": "TSV", ".csv.gz": "CSV", ".tsv.gz": "TSV"}
MAX_HEADER = 2**20
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


@dataclass(frozen=True)
class File:
    """Existing file: absolute path, and "Parquet", "CSV" or "TSV"."""

    path: Path
    format: str

    @classmethod
    def find(cls, path: str | Path) -> "File":
        """Return the file at `path`, by its name's format."""
        if is_no_path(str(path)):  # not repeated: it may contain a password
            raise UnreadableTable(
                "The source is neither the path of a file nor an address that can be read.",
                "Give a path, or postgresql://user@host/database?table=people as text.",
            )
        path = Path(path)
        suffix = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()
        if suffix not in FORMATS:
            raise UnreadableTable(
                f"{str(path)!r} has an unknown format.",
                f"Give a file ending in {', '.join(FORMATS)}; in Excel, save it as CSV UTF-8.",
            )
        if _is(path, Path.is_dir):
            raise UnreadableTable(f"{str(path)!r} is a folder.", "Give one file.")
        if not _is(path, Path.is_file):
            raise UnreadableTable(f"There is no file {str(path)!r}.", "Check the path.")
        return cls(path.resolve(), FORMATS[suffix])

    @property
    def is_packed(self) -> bool:
        """True if the file is compressed by gzip."""
        return self.path.suffix.lower() == ".gz"

    @property
    def delimiter(self) -> str:
        """Delimiter between two fields."""
        return "\t" if self.format == "TSV" else ","

    @contextmanager
    def open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file as stored, and its unpacked content."""
        with self.path.open("rb") as stored, gzip.GzipFile(fileobj=stored) as unpacked:
            yield stored, cast(IO[bytes], unpacked) if self.is_packed else stored

    def header(self) -> list[str]:
        """Return the names in the first line, reading nothing else."""
        start = self._start()
        check_is_text(start or b"", str(self.path))
        line = _first_line(start)
        if line is None:
            raise UnreadableTable(
                f"The header of {str(self.path)!r} cannot be read.", "Write it in UTF-8, on one line."
            )
        bare = _QUOTED.sub("", line)  # a semicolon inside quotes is part of a name
        if bare.count(";") > bare.count(self.delimiter):
            raise UnreadableTable(
                f"Semicolons separate the values of {str(self.path)!r}.",
                "Save it with commas between values and a point in decimals, or put a name that has one in quotes.",
            )
        try:
            names = next(csv.reader([line], delimiter=self.delimiter, strict=True), [])
        except csv.Error:
            names = []
        if not names:
            raise UnreadableTable(f"{str(self.path)!r} has no header.", "Write the column names in its first line.")
        return names

    def _start(self) -> bytes | None:
        """Return the bytes with the header, or None."""
        try:
            with self.open() as (_, content):
                return content.read(MAX_HEADER)
        except (OSError, EOFError, zlib.error):
            return None


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
