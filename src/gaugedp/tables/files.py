"""Files that rows come from: which they are, and the header of a text file."""

import csv
import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gaugedp._postgres import is_no_path
from gaugedp.errors import UnreadableTable

FORMATS = {".parquet": "Parquet", ".csv": "CSV", ".tsv": "TSV", ".csv.gz": "CSV", ".tsv.gz": "TSV"}
MAX_HEADER = 2**20


@dataclass(frozen=True)
class File:
    """A file that exists: its absolute path and its format, one of "Parquet", "CSV" and "TSV"."""

    path: Path
    format: str

    @classmethod
    def find(cls, path: str | Path) -> "File":
        """Return the file at `path`, the format being told by the end of its name."""
        if is_no_path(str(path)):  # not repeated: it may hold a password
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
        """Whether the file is compressed by gzip."""
        return self.path.suffix.lower() == ".gz"

    @property
    def delimiter(self) -> str:
        """What stands between two fields."""
        return "\t" if self.format == "TSV" else ","

    def header(self) -> list[str]:
        """Return the names in the first line of a text file; nothing else is looked at."""
        line = self._first_line()
        if line is None:
            raise UnreadableTable(
                f"The header of {str(self.path)!r} cannot be read.", "Write it in UTF-8, on one line."
            )
        try:
            names = next(csv.reader([line], delimiter=self.delimiter, strict=True), [])
        except csv.Error:
            names = []
        if not names:
            raise UnreadableTable(f"{str(self.path)!r} has no header.", "Write the column names in its first line.")
        if sum(name.count(";") for name in names) >= len(names):
            raise UnreadableTable(
                f"Semicolons separate the values of {str(self.path)!r}.",
                "Save it with commas between values and a point in decimal numbers.",
            )
        return names

    def _first_line(self) -> str | None:
        try:
            with gzip.open(self.path) if self.is_packed else self.path.open("rb") as file:
                start = file.read(MAX_HEADER)
        except (OSError, EOFError, zlib.error):
            return None
        try:
            return start.splitlines()[0].decode("utf-8-sig") if start else ""
        except UnicodeDecodeError:
            return None


def _is(path: Path, kind: Callable[[Path], bool]) -> bool:
    try:
        return kind(path)
    except OSError:  # such as a name that is too long
        return False
