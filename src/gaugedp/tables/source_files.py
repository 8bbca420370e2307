"""The files that rows come from: whether they are still what they were, without reading them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from gaugedp.tables.refusals import unfinished


@dataclass(frozen=True)
class SourceFiles:
    """Files on this machine, and the `recipe` by which rows are made of them, "" where a row of a file is a row."""

    paths: tuple[Path, ...]
    recipe: str = ""

    @property
    def name(self) -> str:
        """What tells these rows from others, whatever the state of the files."""
        return "\0".join([*map(str, self.paths), self.recipe])

    def state(self) -> str:
        """Return what tells the files from their later states without reading them: place, size, time of writing."""
        text = "\n".join(map(_state, self.paths))
        return text if len(self.paths) == 1 else hashlib.sha256(text.encode()).hexdigest()


def _state(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        raise unfinished() from None
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
