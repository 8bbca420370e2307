"""Looking at a table in parts, so that the people of one part fit in memory.

A bucket holds the people that a keyed hash puts there (gaugedp.tables.bounding.in_bucket), with all their rows. Which
rows of a person are kept depends on nobody else, so the totals of the buckets add up to the totals of the table: whole
numbers, the same ones whatever the number of buckets. Each bucket reads the source anew and keeps its own people only.

How many buckets there are depends on the size of the file and on the memory, never on what a row says. It changes the
time of a look and its need of memory, not the answer.
"""

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.validate import whole
from gaugedp._internal.version import __version__
from gaugedp.errors import InvalidRequest
from gaugedp.tables.engine import Engine
from gaugedp.tables.files import SourceFiles
from gaugedp.tables.refusals import unfinished

if TYPE_CHECKING:
    from gaugedp.domain.domain import PrivacyUnit
    from gaugedp.tables.statement import Aggregation

P = TypeVar("P", bound="InBuckets")
UNKNOWN_MEMORY = 4 * 2**30  # where the system does not tell
LEAST_MEMORY = 2**27
NEED = {".parquet": 16, ".gz": 12, "": 4}  # bytes of memory for a byte of a file, at most, in files of a few columns
MOST_BUCKETS = 10_000
Read = Callable[["Aggregation", bytes], list[np.ndarray]]
ENDING = ".gaugedp-sums"
OTHERS_MAY_WRITE = 0o022


class InBuckets(Protocol):
    """A dataclass that counts, of the people of `unit`, those of its `bucket`, or all."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def unit(self) -> "PrivacyUnit":
        """The unit that is protected."""


def nothing() -> None:
    """Find no files."""


@dataclass(frozen=True)
class Buckets:
    """The number of parts in which a table is read, and the folder of the sums over finished parts, if any."""

    file: Path | None = None
    count: int = 1
    memory_bytes: int | None = None
    folder: Path | None = None
    source_files: SourceFiles | None = None
    find_source_files: Callable[[], SourceFiles | None] = field(default=nothing, repr=False)
    on_progress: Progress = field(default=silent, repr=False)

    @classmethod
    def of(cls, source: object) -> "Buckets":
        """Return one part, or more for a file that is large beside half of the machine's memory."""
        from gaugedp.tables.spark import engine as spark

        if spark.reads(source):
            return cls(find_source_files=partial(spark.source_files_of, source))
        if not isinstance(source, str | Path):
            return cls()
        file = Path(source).resolve()
        if not file.is_file():  # a table on a server
            return cls()
        memory = _machine_memory() // 2
        count = _enough(file, memory)
        return cls(file, count, memory if count > 1 else None, find_source_files=partial(SourceFiles, (file,)))

    def sized(self, count: int | None, memory_bytes: int | None, folder: str | os.PathLike[str] | None) -> "Buckets":
        """Return the parts that are asked for; a `count` that is not given follows from the size of the file."""
        memory = _machine_memory() // 2 if memory_bytes is None else memory_bytes
        whole(minimum=LEAST_MEMORY, memory_bytes=memory)
        source_files = None if folder is None else self.find_source_files()
        if (self.file is None and count is None) or (folder is not None and source_files is None):
            raise InvalidRequest(
                "The source is not a file, so that its size and whether it changed are not known.",
                "Give the number of buckets, and no folder.",
            )
        if count is None:
            count = _enough(self.file, memory) if self.file else 1
        whole(minimum=1, count=count)
        if count > MOST_BUCKETS:
            raise InvalidRequest(f"{count:,} buckets are too many.", f"Give at most {MOST_BUCKETS:,}.")
        limit = memory if count > 1 or memory_bytes is not None else None
        place = None if folder is None else owned_folder(folder)
        return replace(self, count=count, memory_bytes=limit, folder=place, source_files=source_files)

    def limited(self, engine: Engine) -> Engine:
        """Return the engine with the limit of memory, where there is one."""
        return engine if self.memory_bytes is None else engine.limited(self.memory_bytes)

    def parts(self, aggregation: P) -> Iterator[P]:
        """Yield the aggregation of each bucket, and report the share that is done; itself where it has no people."""
        if self.count == 1 or aggregation.unit.column is None:
            yield aggregation
            return
        for index in range(self.count):
            yield replace(aggregation, bucket=(self.count, index))
            self.on_progress((index + 1) / self.count)

    def totals(self, aggregation: "Aggregation", read: Read, row_key: bytes) -> list[np.ndarray]:
        """Return Σ read(part, row key) over the buckets, having gone on from the sums that were kept, if any."""
        checkpoint = self._checkpoint(aggregation)
        sums = BucketSums(row_key, self.count)
        sums = sums if checkpoint is None else checkpoint.load(sums)
        for index, part in enumerate(self.parts(aggregation)):
            if index < sums.done:
                continue
            sums = sums.plus(read(part, sums.row_key))
            if checkpoint is not None:
                checkpoint.check()
                checkpoint.keep(sums)
        if checkpoint is not None:
            checkpoint.remove()
        return list(sums.arrays)

    def _checkpoint(self, aggregation: "Aggregation") -> "Checkpoint | None":
        if self.folder is None or self.source_files is None:
            return None
        # a statement can serve two questions
        identity = [aggregation.totals, aggregation.domain, aggregation.unit, aggregation.statement(b"").sql()]
        return Checkpoint.of(self.folder, self.source_files, repr(identity))


def joined(parts: Sequence[Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
    """Return the listed rows of all parts, sorted by their columns."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort(list(columns.values())[::-1])
    return {name: column[order] for name, column in columns.items()}


def _enough(file: Path, memory: int) -> int:
    """The number of buckets whose people fit in half of `memory` bytes, by the size of the file."""
    need = NEED.get(file.suffix.lower(), NEED[""]) * file.stat().st_size
    return min(MOST_BUCKETS, 1 if need <= memory else math.ceil(2 * need / memory))


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN_MEMORY


@dataclass(frozen=True)
class BucketSums:
    """The sums over the first `done` of `count` buckets, under `row_key`; `arrays` is empty where none is done."""

    row_key: bytes
    count: int
    done: int = 0
    arrays: tuple[np.ndarray, ...] = ()

    def plus(self, arrays: list[np.ndarray]) -> "BucketSums":
        """Return the sums with those of the next bucket."""
        total = tuple(a + b for a, b in zip(self.arrays, arrays, strict=True)) if self.done else tuple(arrays)
        return BucketSums(self.row_key, self.count, self.done + 1, total)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums for JSON, whose whole numbers have no limit."""
        arrays = [[str(array.dtype), array.tolist()] for array in self.arrays]
        return {"row_key": self.row_key.hex(), "count": self.count, "done": self.done, "arrays": arrays}

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "BucketSums":
        """Return the sums that `to_dict` wrote."""
        arrays = tuple(np.array(values, dtype=kind) for kind, values in facts["arrays"])
        return cls(bytes.fromhex(facts["row_key"]), facts["count"], facts["done"], arrays)


@dataclass(frozen=True)
class Checkpoint:
    """The file of the sums of one query over one state of `source_files`.

    The file holds exact sums and the row key: as private as the table, in a folder that only its owner may write to,
    of mode 0600. It is replaced in one step after each bucket, and removed when the look has ended, however it ends.
    Where it cannot be written the look goes on, and a restart has more to do.
    """

    path: Path
    source_files: SourceFiles
    source: str

    @classmethod
    def of(cls, folder: Path, source_files: SourceFiles, question: str) -> "Checkpoint":
        """Return the place for a question, given as its statement without row key, in `folder`."""
        named = hashlib.sha256("\0".join([__version__, source_files.name, question]).encode()).hexdigest()
        return cls(folder / f"{named[:32]}{ENDING}", source_files, source_files.state())

    def load(self, fresh: BucketSums) -> BucketSums:
        """Return what is kept for as many buckets as `fresh` has, of the files as they are; else `fresh`."""
        for stale in self.path.parent.glob(f"{self.path.name}.*"):  # of a process that was killed as it wrote
            _remove(stale)
        try:
            facts = json.loads(self.path.read_bytes())
            sums = BucketSums.of(facts["sums"]) if facts["source"] == self.source else fresh
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            return fresh
        return sums if sums.count == fresh.count else fresh

    def keep(self, sums: BucketSums) -> None:
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
