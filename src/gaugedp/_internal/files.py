"""Names of output files, and their unfinished parts."""

import csv
import os
import re
import shutil
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gaugedp.errors import InvalidRequest

_ALSO = {".html": (".htm",), ".csv": (".txt",)}  # other endings of a format


def check_ending(path: str | Path, kind: str, undone: str = "Nothing was written.") -> None:
    ending = Path(path).suffix.lower()
    if ending not in ("", kind, *_ALSO.get(kind, ())):
        raise InvalidRequest(
            f"The file name {str(path)!r} ends in {ending}, but the output has the format "
            f"{kind.removeprefix('.').upper()}.",
            f"Use a file name that ends in {kind}.",
            undone,
        )


def write_csv(path: str | Path, blocks: Iterable[Mapping[str, Iterable[Any]]]) -> None:
    """Write blocks of columns one below another, with one header."""
    check_ending(path, ".csv")
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for number, block in enumerate(blocks):
            if number == 0:
                writer.writerow(block)
            writer.writerows(zip(*block.values(), strict=True))


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, if possible."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def part_prefix(folder: Path) -> str:
    """Return the prefix of unfinished files in a folder, and remove those of killed runs."""
    host = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname()) or "host"
    for part in folder.glob(f".gaugedp-{host}-*-*"):
        process = part.name.removeprefix(f".gaugedp-{host}-").split("-")[0]
        if process.isdigit() and not _runs(int(process)):
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)
    return f".gaugedp-{host}-{os.getpid()}-"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
