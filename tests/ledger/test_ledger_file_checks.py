"""Network file systems, read off the text of the mounts."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from gaugedp.errors import LedgerRefused, NotDurable
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, file_checks
from tests.ledger.kit import paid, refused

MOUNTS = r"""sysfs /sys sysfs rw 0 0
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/me/local xfs rw 0 0
//server/share /mnt/shared\040folder cifs rw 0 0
me@server: /mnt/ssh fuse.sshfs rw 0 0
tmpfs /home/me/local/tmp tmpfs rw 0 0
server:/later /srv nfs rw 0 0
/dev/sdc1 /srv ext4 rw 0 0
none none none
short
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/people.ledger", None),
        ("/home/me/people.ledger", "nfs4"),
        ("/homework/people.ledger", None),
        ("/home/me/local/people.ledger", None),
        ("/home/me/local/tmp/people.ledger", None),
        ("/mnt/shared folder/people.ledger", "cifs"),
        ("/mnt/ssh/a/people.ledger", "sshfs"),
        ("/srv/people.ledger", None),
    ],
)
def test_the_nearest_and_latest_mount_counts(path: str, kind: str | None) -> None:
    assert file_checks.network_kind(Path(path), MOUNTS) == kind


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "sshfs", "fuse.s3fs", "ceph", "fuse.ceph-fuse"]
)
def test_network_kinds(kind: str) -> None:
    assert file_checks.network_kind(Path("/x/y"), f"a / {kind} rw 0 0") == kind.removeprefix("fuse.")


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "apfs", "fuseblk", "fuse.ntfs"])
def test_local_kinds(kind: str) -> None:
    assert file_checks.network_kind(Path("/x/y"), f"a / {kind} rw 0 0") is None


def test_nothing_is_mounted() -> None:
    assert file_checks.network_kind(Path("/x/y"), "") is None


def test_a_network_folder_is_refused(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger.open(path, PureDP(1))
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/x {path.parent} nfs4 rw 0 0\n")
    monkeypatch.setattr(file_checks, "_MOUNTS", mounts)
    for at in (path, path.with_name("new.ledger")):
        with refused("network file system (nfs4)", "local disk", path=path):
            Ledger.open(at, PureDP(1))
    monkeypatch.setattr(file_checks, "_MOUNTS", tmp_path / "absent")
    assert Ledger.open(path).budget == PureDP(1)


OVERLAY = "overlay {} overlay rw,lowerdir=/low,upperdir={},workdir=/work 0 0"


@pytest.mark.parametrize(
    ("line", "durable"),
    [
        ("/dev/sda1 {} ext4 rw 0 0", True),
        ("tmpfs {} tmpfs rw,size=4k 0 0", False),
        ("none {} ramfs rw 0 0", False),
        ("udev {} devtmpfs rw 0 0", False),
        ("rootfs {} rootfs rw 0 0", False),
        ("/dev/ram0 {} ext4 rw 0 0", False),
        ("/dev/zram1 {} ext4 rw 0 0", False),
        ("/dev/ramdisk-vg {} ext4 rw 0 0", True),
        (f"{OVERLAY.format('{}', '/live/upper')}\ntmpfs /live tmpfs rw 0 0", False),
        (f"{OVERLAY.format('{}', '/live/upper')}\n/dev/sda1 /live ext4 rw 0 0", True),
        (f"{OVERLAY.format('{}', '/live/two')}\n{OVERLAY.format('/live', '/run/up')}\ntmpfs /run tmpfs rw 0 0", False),
        (OVERLAY.format("{}", "/seen/from/outside"), True),
        (OVERLAY.format("/", "/var/lib/upper"), True),
        ("overlay {} overlay rw,lowerdir=/low,upperdir=/disk,workdir=/work,volatile 0 0", False),
        ("overlay {} overlay ro,lowerdir=/low 0 0", True),
        ("", True),
    ],
)
def test_a_file_system_in_memory_is_not_durable(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, durable: bool
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\n{line.format(tmp_path)}\n")
    monkeypatch.setattr(file_checks, "_MOUNTS", mounts)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ledger = Ledger.open(path, PureDP(1))
    assert ledger.durable == durable
    assert [one.category for one in said] == [NotDurable] * (not durable)
    assert all(str(path) in str(one.message) and "may lose what was spent" in str(one.message) for one in said)
    assert ledger.account(paid(ledger))["durable"] == durable


MOUNTED = """
import subprocess, sys, warnings
from pathlib import Path
folder = Path(sys.argv[1])
def mount(*words):
    if subprocess.run(["mount", *words], capture_output=True).returncode:
        sys.exit(77)
mount("-t", "tmpfs", "tmpfs", str(folder))
for name in ("low", "up", "work", "all"):
    (folder / name).mkdir()
mount("-t", "overlay", "-o", f"lowerdir={folder}/low,upperdir={folder}/up,workdir={folder}/work", "o", f"{folder}/all")
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
warnings.simplefilter("ignore")
for place in (folder, folder / "all"):
    assert not Ledger.open(place / "people.ledger", PureDP(1)).durable
"""


def test_real_mounts_in_memory_are_not_durable(tmp_path: Path) -> None:
    """In a mount namespace of its own, where the system lets us have one."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("this system has no mount namespaces")
    command = [unshare, "-m", sys.executable, "-c", MOUNTED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this user may not mount")
    assert done.returncode == 0, done.stderr


def test_a_ledger_with_a_second_name_is_refused(tmp_path: Path) -> None:
    """SQLite's log is found by name: under two names the budget would be spent twice."""
    ledger = Ledger.open(tmp_path / "a.ledger", PureDP(1))
    os.link(tmp_path / "a.ledger", tmp_path / "b.ledger")
    for path in ("a.ledger", "b.ledger"):
        with pytest.raises(LedgerRefused, match="another name"):
            Ledger.open(tmp_path / path)
    os.unlink(tmp_path / "b.ledger")
    assert ledger.spent == PureDP(0)


def test_a_new_ledger_has_one_name_before_the_disk_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others who open it meanwhile would take a second name for a hard link, and refuse it after a second."""
    actual, wait = [], os.fsync

    def waiting(file: int) -> None:
        actual.append(os.stat(tmp_path / "a.ledger").st_nlink)
        wait(file)

    monkeypatch.setattr(os, "fsync", waiting)
    Ledger.open(tmp_path / "a.ledger", PureDP(1))
    assert actual == [1]
    assert [file.name for file in tmp_path.iterdir() if not file.name.startswith("a.ledger")] == []
