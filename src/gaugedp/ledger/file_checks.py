"""Checks of a ledger's path: local, writable, with one name."""

import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gaugedp._internal.postgres import is_no_path
from gaugedp.errors import InvalidRequest, LedgerRefused

_MOUNTS = Path("/proc/mounts")
_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs", "rootfs")
_MEMORY_DEVICE = re.compile(r"/dev/z?ram\d+")
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|ncpfs|afs|coda|ceph|cephfs|ceph-fuse|glusterfs|lustre|gpfs|beegfs|orangefs|pvfs2|gfs2|ocfs2|panfs|"
    r"davfs2?|sshfs|s3fs|gcsfuse|rclone|webdav|curlftpfs|juicefs|moosefs|mfs"
)


def check_path(path: str) -> Path:
    """Return the absolute path; refuse addresses and other texts."""
    if not isinstance(path, str) or "\0" in path or not path.strip():
        raise InvalidRequest(
            "The ledger's path must be a Path or a nonempty string.",
            "Pass the path of a file, such as 'people.ledger'.",
        )
    if "://" in path or is_no_path(path):
        raise InvalidRequest(
            "A ledger is a file or a schema on a PostgreSQL server, and the path names neither.",
            "Pass a path on a local disk, or an address that starts with postgresql://.",
        )
    return Path(os.path.abspath(path))


def check_place(path: Path, name: str) -> bool:
    """Return True if the file exists; refuse an unusable place."""
    try:
        folder, kind = path.parent.stat(), _kind(path)
    except FileNotFoundError:
        raise LedgerRefused(f"The folder of {name} does not exist.", "Create it, or check the path.") from None
    except OSError as error:
        raise LedgerRefused(f"The ledger {name} cannot be reached ({error.strerror}).", "Check the path.") from None
    if not stat.S_ISDIR(folder.st_mode):
        raise LedgerRefused(f"The parent of {name} is not a folder.", "Check the path.")
    if kind == stat.S_IFDIR:
        raise LedgerRefused(f"{name} is a folder, but a ledger is a file.", "Pass the path of a file.")
    if kind not in (None, stat.S_IFREG):
        raise LedgerRefused(f"{name} is not a regular file.", "Pass the path of a file.")
    _check_access(path, name, exists=kind is not None)
    _check_local(path, name)
    return kind is not None


def is_gone(path: Path) -> bool:
    """Return True if the file is known to be missing."""
    try:
        return _kind(path) is None
    except OSError:
        return False


def network_kind(path: Path, mounts: str) -> str | None:
    """Return the kind of network file system, or None. `mounts` is the text of /proc/mounts."""
    mount = _mount_of(path, list(_mounted(mounts)))
    kind = "" if mount is None else mount.kind.removeprefix("fuse.")
    return kind if _NETWORK.fullmatch(kind) else None


def is_in_memory(path: Path) -> bool:
    """Return True if a restart may lose what is written here.

    It uses /proc/mounts, and returns False if that is unknown. For an overlay, the upper folder decides; a volatile one
    never waits for the disk. A container does not see the upper folder of its own root.
    """
    place, mounts = Path(os.path.realpath(path)), list(_mounted(_mounts()))
    while (mount := _mount_of(place, mounts)) is not None and mount.kind == "overlay":
        mounts.remove(mount)
        options = mount.options.split(",")
        upper = next((option for option in options if option.startswith("upperdir=")), None)
        if "volatile" in options or upper is None:
            return "volatile" in options
        place = Path(upper.removeprefix("upperdir="))
    return mount is not None and (mount.kind in _IN_MEMORY or bool(_MEMORY_DEVICE.fullmatch(mount.source)))


def _mounts() -> str:
    try:
        return os.fsdecode(_MOUNTS.read_bytes())
    except OSError:
        return ""


class _Mount(NamedTuple):
    """Line of /proc/mounts."""

    source: str
    point: str
    kind: str
    options: str


def _mounted(mounts: str) -> Iterator[_Mount]:
    for line in mounts.splitlines():
        fields = line.split(" ")[: len(_Mount._fields)]
        if "\\" in line:
            fields = [re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field) for field in fields]
        if len(fields) == len(_Mount._fields):
            yield _Mount(*fields)


def _mount_of(path: Path, mounts: list[_Mount]) -> _Mount | None:
    holding = [mount for mount in mounts if path.is_relative_to(mount.point)]
    return max(reversed(holding), key=lambda mount: len(mount.point), default=None)


def _kind(path: Path) -> int | None:
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _check_access(path: Path, name: str, *, exists: bool) -> None:
    """Refuse a file or folder that is not writable. A reservation also writes files next to the ledger."""
    if exists and not os.access(path, os.R_OK):
        raise LedgerRefused(
            f"The ledger {name} may not be read by this user.", "Obtain permission to read and write it."
        )
    if exists and not os.access(path, os.W_OK):
        raise LedgerRefused(f"The ledger {name} is read-only.", "Obtain write permission for it.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise LedgerRefused(f"The folder of {name} is read-only.", "Obtain write permission for it.")


def _check_local(path: Path, name: str) -> None:
    kind = network_kind(Path(os.path.realpath(path)), _mounts())
    if kind is not None:
        raise LedgerRefused(
            f"The ledger {name} is on a network file system ({kind}), where two machines could spend the same budget.",
            "Move it to a local disk.",
        )


def check_single(path: Path, name: str) -> None:
    """Refuse a file with a second name.

    SQLite finds its log by the file's name, so with two names the budget could be spent twice.
    """
    place = os.path.realpath(path)
    if any(mount.point == place for mount in _mounted(_mounts())):
        raise LedgerRefused(
            f"The ledger {name} is mounted on its own, so the same file has a second name elsewhere, which could "
            "spend its budget again.",
            "Mount its folder instead, and pass the path within it.",
        )
    for _ in range(50):  # tries
        try:
            if os.stat(path).st_nlink <= 1:
                return
        except OSError:
            return  # opening the file reports the error
        time.sleep(0.02)
    raise LedgerRefused(
        f"The ledger {name} is also stored under another name (a hard link), which could be used to spend its "
        "budget twice.",
        "Remove the other name.",
    )
