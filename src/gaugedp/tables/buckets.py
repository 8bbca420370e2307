"""Reading a table in buckets of people.

The people of a bucket fit in memory. A keyed hash assigns people to buckets (gaugedp.tables.bounding.in_bucket), with
all their rows. The remaining rows of a person depend on nobody else, so the totals of the buckets add up to the totals
of the table: integers that are the same whatever the number of buckets. Each bucket reads the source again and uses
only its own people.

The number of buckets depends on the size of the file and on the memory, never on a row. It changes the time and the
memory of an evaluation, not the answer.
"""

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.validate import whole
from gaugedp._internal.version import __version__
from gaugedp.errors import InvalidRequest
from gaugedp.tables.engine import Engine
from gaugedp.tables.files import SourceFiles, parquet_files
from gaugedp.tables.refusals import unfinished

if TYPE_CHECKING:
    from gaugedp.domain.unit import PrivacyUnit
    from gaugedp.tables.statement import Aggregation

NEED = {".parquet": 16, ".zst": 16, ".gz": 12, "": 4}  # bytes of memory per byte of a file, at most, for a few columns
MOST_BUCKETS = 10_000
Read = Callable[["Aggregation", bytes], list[np.ndarray]]
ENDING = ".gaugedp-sums"
OTHERS_MAY_WRITE = 0o022


def nothing() -> None:
    """Find no files."""


@dataclass(frozen=True)
class Buckets:
    """Number of buckets, and the folder for unfinished sums."""

    files: tuple[Path, ...] = ()
    count: int = 1
    memory_bytes: int | None = None
    folder: Path | None = None
    source_files: SourceFiles | None = None
    find_source_files: Callable[[], SourceFiles | None] = field(default=nothing, repr=False)
    on_progress: Progress = field(default=silent, repr=False)

    @classmethod
    def of(cls, source: object) -> "Buckets":
        """Return one bucket, or more if half the memory is exceeded."""
        from gaugedp.tables.spark import engine as spark

        if spark.reads(source):
            return cls(find_source_files=partial(spark.source_files_of, source))
        if not isinstance(source, str | Path):
            return cls()
        file = Path(source).resolve()
        paths = parquet_files(file) if file.is_dir() else (file,)
        if not all(path.is_file() for path in paths):  # a table on a server
            return cls()
        memory = _machine_memory() // 2
        count = _enough(paths, memory)
        return cls(paths, count, memory if count > 1 else None, find_source_files=partial(SourceFiles, paths))

    def sized(self, count: int | None, memory_bytes: int | None, folder: str | os.PathLike[str] | None) -> "Buckets":
        """Return the requested buckets; `count` defaults by file size."""
        memory = _machine_memory() // 2 if memory_bytes is None else memory_bytes
        whole(minimum=2**27, memory_bytes=memory)
        source_files = None if folder is None else self.find_source_files()
        if (not self.files and count is None) or (folder is not None and source_files is None):
            raise InvalidRequest(
                "The rows do not come from a file, so their amount and whether they change are unknown.",
                "Pass the number of buckets, and omit `folder`.",
            )
        if count is None:
            count = _enough(self.files, memory)
        whole(minimum=1, count=count)
        if count > MOST_BUCKETS:
            raise InvalidRequest(f"{count:,} buckets are too many.", f"Pass at most {MOST_BUCKETS:,}.")
        limit = memory if count > 1 or memory_bytes is not None else None
        place = None if folder is None else owned_folder(folder)
        return replace(self, count=count, memory_bytes=limit, folder=place, source_files=source_files)

    def limited(self, engine: Engine) -> Engine:
        """Return the engine with the memory limit, if any."""
        return engine if self.memory_bytes is None else engine.limited(self.memory_bytes)

    def of_people(self, unit: "PrivacyUnit") -> Iterator[tuple[int, int] | None]:
        """Yield each bucket (count, index), and report progress; None if it is the only one."""
        if self.count == 1 or unit.column is None:
            yield None
            return
        for index in range(self.count):
            yield self.count, index
            self.on_progress((index + 1) / self.count)

    def totals(self, aggregation: "Aggregation", read: Read, row_key: bytes) -> list[np.ndarray]:
        """Return Σ read(part, row key), resumed from stored sums."""
        checkpoint = self._checkpoint(aggregation)
        sums = BucketSums(row_key, self.count)
        sums = sums if checkpoint is None else checkpoint.load(sums)
        for index, bucket in enumerate(self.of_people(aggregation.unit)):
            if index < sums.done:
                continue
            part = replace(aggregation, bucket=bucket)
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
        # a statement can serve two queries
        identity = [aggregation.totals, aggregation.domain, aggregation.unit, aggregation.statement(b"").sql()]
        return Checkpoint.of(self.folder, self.source_files, repr(identity))


def joined(parts: Sequence[Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
    """Return the listed rows of all parts, sorted by columns."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort(list(columns.values())[::-1])
    return {name: column[order] for name, column in columns.items()}


def _enough(files: Sequence[Path], memory: int) -> int:
    need = sum(NEED.get(file.suffix.lower(), NEED[""]) * file.stat().st_size for file in files)
    return min(MOST_BUCKETS, 1 if need <= memory else math.ceil(2 * need / memory))


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * 2**30  # if the system does not report it


@dataclass(frozen=True)
class BucketSums:
    """Sums over the first `done` of `count` buckets, under `row_key`."""

    row_key: bytes
    count: int
    done: int = 0
    arrays: tuple[np.ndarray, ...] = ()

    def plus(self, arrays: list[np.ndarray]) -> "BucketSums":
        """Return the sums with those of the next bucket."""
        total = tuple(a + b for a, b in zip(self.arrays, arrays, strict=True)) if self.done else tuple(arrays)
        return BucketSums(self.row_key, self.count, self.done + 1, total)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums for JSON, whose integers have no limit."""
        arrays = [[str(array.dtype), array.tolist()] for array in self.arrays]
        return {"row_key": self.row_key.hex(), "count": self.count, "done": self.done, "arrays": arrays}

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "BucketSums":
        """Return the sums that `to_dict` wrote."""
        arrays = tuple(np.array(values, dtype=kind) for kind, values in facts["arrays"])
        return cls(bytes.fromhex(facts["row_key"]), facts["count"], facts["done"], arrays)


@dataclass(frozen=True)
class Checkpoint:
    """File of the sums of one query over unchanged `source_files`.

    The file holds exact sums and the row key: it is as private as the table, in a folder that only its owner may write
    to, with mode 0600. It is replaced atomically after each bucket, and removed when the evaluation ends, whatever its
    outcome. If it cannot be written, the evaluation continues, and a restart has more to do.
    """

    path: Path
    source_files: SourceFiles
    source: str

    @classmethod
    def of(cls, folder: Path, source_files: SourceFiles, question: str) -> "Checkpoint":
        """Return the checkpoint of a query (its statement) in `folder`."""
        named = hashlib.sha256("\0".join([__version__, source_files.name, question]).encode()).hexdigest()
        return cls(folder / f"{named[:32]}{ENDING}", source_files, source_files.state())

    def load(self, fresh: BucketSums) -> BucketSums:
        """Return stored sums of unchanged files and buckets, else `fresh`."""
        for stale in self.path.parent.glob(f"{self.path.name}.*"):  # left by a process that was killed while writing
            _remove(stale)
        try:
            facts = json.loads(self.path.read_bytes())
            sums = BucketSums.of(facts["sums"]) if facts["source"] == self.source else fresh
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            return fresh
        return sums if sums.count == fresh.count else fresh

    def keep(self, sums: BucketSums) -> None:
        """Write the sums durably and atomically, if possible."""
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
        """Refuse to continue after a file changed; remove the sums."""
        if self.source_files.state() != self.source:
            self.remove()
            raise unfinished()

    def remove(self) -> None:
        """Remove the stored sums."""
        _remove(self.path)


def owned_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder, created if absent; refuse a shared one."""
    path = Path(folder).resolve()
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.stat()
    except OSError:
        raise InvalidRequest(f"The folder {str(path)!r} cannot be created.", "Use a folder of your own.") from None
    if os.name == "posix" and (status.st_mode & OTHERS_MAY_WRITE or status.st_uid != os.geteuid()):
        raise InvalidRequest(
            f"Other users may write to the folder {str(path)!r}, where exact sums would be stored.",
            "Use a folder of your own (mode 0700).",
        )
    if not os.access(path, os.W_OK | os.X_OK):
        raise InvalidRequest(f"The folder {str(path)!r} cannot be written to.", "Use a folder of your own.")
    return path


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
