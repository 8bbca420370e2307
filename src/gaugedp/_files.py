"""Names of files that are written, and what stands in their place while they are."""

import os
import re
import shutil
import socket
from pathlib import Path

from gaugedp.errors import InvalidRequest

_ENDINGS = {
    ".csv", ".tsv", ".json", ".jsonl", ".html", ".toml", ".yaml", ".pdf", ".png", ".docx", ".pkl", ".joblib",
    ".xlsx", ".xls", ".ods", ".parquet", ".feather", ".arrow", ".sav", ".dta", ".zip", ".gz", ".bz2", ".xz", ".zst",
}  # fmt: skip


def check_ending(path: str | Path, kind: str, undone: str = "Nothing was written.") -> None:
    """Refuse a name that guarantees another format than `kind`, such as ".csv"."""
    ending = Path(path).suffix.lower()
    if ending in _ENDINGS and ending != kind:
        raise InvalidRequest(
            f"{str(path)!r} would be no {ending} file: what is written there is {kind.removeprefix('.').upper()}.",
            f"Give a name that ends in {kind}.",
            undone,
        )


def part_prefix(folder: Path) -> str:
    """Return how the name of an unfinished file begins in a folder, and remove those that killed runs left there."""
    host = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname()) or "host"
    for part in folder.glob(f".gaugedp-{host}-*-*"):
        process = part.name.removeprefix(f".gaugedp-{host}-").split("-")[0]
        if process.isdigit() and not _runs(int(process)):
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)
    return f".gaugedp-{host}-{os.getpid()}-"


def _runs(process: int) -> bool:
    """Whether a process runs, or may: one that is somebody else's does."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
