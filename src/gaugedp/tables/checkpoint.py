"""The sums over finished buckets, on disk, so that a look that was killed need not begin again.

The file holds exact sums and the row key. It is as private as the table: it belongs to the data's side, in a folder
that only the table's owner may write to; the file itself may be read and written by its owner alone (mode 0600). It is
replaced in one step after each bucket and removed when the look has ended, also where the table was changed meanwhile.
A file that cannot be written is done without: the look goes on, and a restart has more to do.
"""

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.tables.files import SourceFiles
from gaugedp.tables.refusals import unfinished

ENDING = ".gaugedp-sums"
OTHERS_MAY_WRITE = 0o022


@dataclass(frozen=True)
class Sums:
    """The sums over the first `done` of `count` buckets, under `row_key`; `arrays` is empty where none is done."""

    row_key: bytes
    count: int
    done: int = 0
    arrays: tuple[np.ndarray, ...] = ()

    def plus(self, arrays: list[np.ndarray]) -> "Sums":
        """Return the sums with those of the next bucket."""
        total = tuple(a + b for a, b in zip(self.arrays, arrays, strict=True)) if self.done else tuple(arrays)
        return Sums(self.row_key, self.count, self.done + 1, total)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums for JSON, whose whole numbers have no limit."""
        arrays = [[str(array.dtype), array.tolist()] for array in self.arrays]
        return {"row_key": self.row_key.hex(), "count": self.count, "done": self.done, "arrays": arrays}

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "Sums":
        """Return the sums that `to_dict` wrote."""
        arrays = tuple(np.array(values, dtype=kind) for kind, values in facts["arrays"])
        return cls(bytes.fromhex(facts["row_key"]), facts["count"], facts["done"], arrays)


@dataclass(frozen=True)
class Checkpoint:
    """Where the sums of one question to the rows of one `source_files` are kept, and which state of it they are of."""

    path: Path
    source_files: SourceFiles
    source: str

    @classmethod
    def of(cls, folder: Path, source_files: SourceFiles, question: str) -> "Checkpoint":
        """Return the place for a question, given as its statement without row key, in `folder`."""
        named = hashlib.sha256("\0".join([version("gaugedp"), source_files.name, question]).encode()).hexdigest()
        return cls(folder / f"{named[:32]}{ENDING}", source_files, source_files.state())

    def load(self, fresh: Sums) -> Sums:
        """Return what is kept for as many buckets as `fresh` has, of the files as they are; else `fresh`."""
        for stale in self.path.parent.glob(f"{self.path.name}.*"):  # of a process that was killed as it wrote
            _remove(stale)
        try:
            facts = json.loads(self.path.read_bytes())
            sums = Sums.of(facts["sums"]) if facts["source"] == self.source else fresh
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            return fresh
        return sums if sums.count == fresh.count else fresh

    def keep(self, sums: Sums) -> None:
        """Write the sums, durably and in one step, where that is possible."""
        text = json.dumps({"source": self.source, "sums": sums.to_dict()})
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except OSError:
            _remove(draft)

    def check(self) -> None:
        """Refuse to go on where a file is no longer what it was at the start; what was kept is removed."""
        if self.source_files.state() != self.source:
            self.remove()
            raise unfinished()

    def remove(self) -> None:
        """Remove what was kept."""
        _remove(self.path)


def owned_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder, made for its owner alone where there is none; refuse one that others may write to."""
    path = Path(folder).resolve()
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.stat()
    except OSError:
        raise InvalidRequest(f"The folder {str(path)!r} cannot be made.", "Name a folder of your own.") from None
    if os.name == "posix" and (status.st_mode & OTHERS_MAY_WRITE or status.st_uid != os.geteuid()):
        raise InvalidRequest(
            f"Others may write to the folder {str(path)!r}, and exact sums would be kept there.",
            "Name a folder of your own (mode 0700).",
        )
    if not os.access(path, os.W_OK | os.X_OK):
        raise InvalidRequest(f"The folder {str(path)!r} cannot be written to.", "Name a folder of your own.")
    return path


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
