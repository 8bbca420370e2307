"""A ledger that cannot take a request: exit 3, no row read, the ledger as it was; and a disk full after paying."""

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gaugedp.errors import STAYS_SPENT
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from gaugedp.tables.table import Table
from tests.cli.kit import DOMAIN, NOTE, PROGRESS, Desk, check_sentence, check_silence, options
from tests.forking import Done, Nursery

resource = pytest.importorskip("resource", reason="this system has no limits")


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a row is looked at."""

    def look(*_: object) -> None:
        raise AssertionError("the table was looked at")

    monkeypatch.setattr(Table, "totals", look)


def check_kept(desk: Desk, *words: str, **chosen: str | None) -> None:
    """Refused by the ledger, which stays as it was, as do all files."""
    before, entries = desk.files(), desk.ledger().entries()
    check_sentence(desk.release(out="answers.csv", save="release.json", **chosen), 3, *words)
    assert desk.files() == before
    assert desk.ledger().entries() == entries
    assert desk.ledger().verify().ok


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (DOMAIN.replace("people", "pupils"), ("for the table 'people'", "'pupils'", "Use the ledger of that table")),
        (f"{DOMAIN}[unit]\nneighbours = 'replace'\n", ("protects one row", "replaced by others", "unit of the ledger")),
        (f"{DOMAIN}[unit]\ncolumn = 'PID'\n", ("protects one row", "the rows of one PID", "unit of the ledger")),
        (f"{DOMAIN}[unit]\ncolumn = 'PID'\nmax_rows = 3\n", ("the rows of one PID (at most 3)", "unit of the ledger")),
    ],
    ids=["table", "neighbours", "unit", "max_rows"],
)
@pytest.mark.usefixtures("unread")
def test_a_ledger_of_another_table_or_unit(desk: Desk, text: str, words: tuple[str, ...]) -> None:
    (desk.folder / "other.toml").write_text(text)
    check_kept(desk, *words, domain="other.toml")
    check_kept(desk, *words, domain="other.toml", budget="2")


@pytest.mark.parametrize("budget", ["3", "2,1e-6", "rho=2", "mu=2"])
@pytest.mark.usefixtures("unread")
def test_another_budget(desk: Desk, budget: str) -> None:
    check_kept(desk, "was opened with a budget of PureDP(2)", "Omit the budget", budget=budget)
    before = desk.files()
    check_sentence(desk.gaugedp("ledger", "open", "people.ledger", "--budget", budget), 3, "a budget of PureDP(2)")
    assert desk.files() == before


@pytest.mark.parametrize("epsilon", ["1.5000001", "2", "1e6"])
@pytest.mark.usefixtures("unread")
def test_a_budget_that_is_exceeded(desk: Desk, epsilon: str) -> None:
    check_kept(desk, "This release costs", "PureDP(1.5) of PureDP(2) is left", "Request less", epsilon=epsilon)


@pytest.mark.parametrize("chosen", [{"rho": "0.1"}, {"mu": "0.1"}])
@pytest.mark.usefixtures("unread")
def test_a_guarantee_that_has_no_cost_in_this_budget(desk: Desk, chosen: dict[str, str]) -> None:
    check_kept(desk, "cannot be charged to a budget of", "Specify only epsilon", epsilon=None, **chosen)


def test_a_guarantee_of_another_kind_costs_what_it_is(desk: Desk) -> None:
    done = desk.release(delta="1e-6")  # answered, at this size, by noise that has no delta
    assert done.code in {0, 3}
    assert desk.ledger().verify().ok


@pytest.mark.usefixtures("unread")
def test_a_key_of_another_request(desk: Desk) -> None:
    told = ("Use a new key. Or repeat the request ", " unchanged, at no cost")
    check_kept(desk, "The key 'first' belongs to another request", *told, key="first")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:3000])


def _overwrite(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:1000] + NOTE.encode() * 600 + whole[1000 + 600 * len(NOTE) :])


def _alter(statement: str, path: Path) -> None:
    """Change what the ledger says, by hands that take the guards away first."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text(NOTE),
    "cut": _cut,
    "overwritten": _overwrite,
    "head": partial(_alter, "UPDATE head SET spent = '0'"),
    "tip": partial(_alter, f"UPDATE head SET tip = '{NOTE}'"),
    "last": partial(_alter, "DELETE FROM entry WHERE kind = 'settle'"),
    "budget": partial(_alter, "UPDATE entry SET request = replace(request, '2', '9') WHERE kind = 'open'"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("budget", [None, "2"])
@pytest.mark.usefixtures("unread")
def test_a_corrupted_ledger(desk: Desk, damage: Callable[[Path], object], budget: str | None) -> None:
    damage(desk.folder / "people.ledger")
    before = desk.files()
    check_sentence(desk.release(out="answers.csv", save="release.json", budget=budget), 3, "people.ledger")
    assert desk.files() == before


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_corrupted_ledger_is_not_in_order(desk: Desk, damage: Callable[[Path], object]) -> None:
    damage(desk.folder / "people.ledger")
    before = desk.files()
    done = desk.gaugedp("ledger", "verify", "people.ledger")
    assert done.code == 3
    assert done.out + done.err
    check_silence(Done(3, done.out.replace(f"{NOTE} is not", ""), done.err))
    assert desk.files() == before


@pytest.mark.usefixtures("unread")
def test_a_folder_is_no_ledger(desk: Desk) -> None:
    (desk.folder / "folder").mkdir()
    before = desk.files()
    check_sentence(desk.release(ledger="folder", budget="2"), 3, "is a folder, but a ledger is a file")
    check_sentence(desk.release(ledger="absent/new.ledger", budget="2"), 3, "The folder of", "does not exist")
    assert desk.files() == before


@pytest.mark.usefixtures("unread")
def test_a_locked_ledger(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "open", partial(Ledger.open, timeout=0.2))  # the command line waits 30 seconds
    before = desk.files()
    with closing(sqlite3.connect(desk.folder / "people.ledger", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        check_sentence(desk.release(out="answers.csv"), 3, "is locked by another process", "Try again")
    assert desk.files() == before


# -- rights and disks, in a process of their own ---------------------------------------------------


@pytest.fixture
def public(furnished: Path) -> Iterator[Path]:
    """The furnished folder, where every user may enter and write."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "desk"
        shutil.copytree(furnished, folder)
        for path in (Path(place), folder, *folder.iterdir()):
            path.chmod(0o777)
        yield folder
        folder.chmod(0o777)


LIMITED = """
import os, resource, signal, sys
from gaugedp.cli.main import run
from gaugedp.cli.stage import stage


def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


shown = stage.show


def show(name):
    shown(name)
    if name == at:
        limit(size)


stage.show = show
if not at:
    limit(size)
if user and os.geteuid() == 0:
    os.setuid(user)  # the superuser may write everything
sys.exit(run(words))
"""


def limited(forks: Nursery, folder: Path, *flags: str, stdout: str | None = None, **chosen: Any) -> Done:
    """Release under a limit on the size of files from the stage `at` on, or as another user."""
    names = {"size": -1, "at": "", "user": 0}
    names |= {name: chosen.pop(name) for name in list(chosen) if name in names}
    return forks.run(LIMITED, folder, out=stdout, words=["release", "people.csv", *options(**chosen), *flags], **names)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "words"),
    [(0o444, 0o777, "is read-only"), (0o000, 0o777, "may not be read"), (0o666, 0o555, "The folder of")],
)
def test_a_read_only_ledger(forks: Nursery, public: Path, file_mode: int, folder_mode: int, words: str) -> None:
    before = contents(public)
    (public / "people.ledger").chmod(file_mode)
    public.chmod(folder_mode)
    done = limited(forks, public, user=65534)
    public.chmod(0o777)
    (public / "people.ledger").chmod(0o666)
    check_sentence(done, 3, words, "Obtain")
    assert contents(public) == before


def test_a_read_only_folder_holds_no_new_ledger(forks: Nursery, public: Path) -> None:
    public.chmod(0o555)
    check_sentence(limited(forks, public, user=65534, ledger="new.ledger", budget="2"), 3, "The folder of")
    check_sentence(limited(forks, public, user=65534, save="new.json"), 2, "cannot be written")


def test_a_read_only_folder_of_the_answers(forks: Nursery, public: Path) -> None:
    (public / "folder").mkdir()
    shutil.copyfile(public / "answers.csv", public / "folder" / "answers.csv")
    (public / "folder" / "answers.csv").chmod(0o666)
    (public / "folder").chmod(0o555)
    done = limited(forks, public, user=65534, out="folder/answers.csv")
    assert (done.code, Ledger.open(public / "people.ledger").spent) in {(0, PureDP(1)), (2, PureDP(0.5))}


@pytest.mark.parametrize("size", [0, 5000, 30000])
def test_a_full_disk_holds_no_new_ledger(forks: Nursery, desk: Desk, size: int) -> None:
    before = desk.files()
    done = limited(forks, desk.folder, size=size, ledger="new.ledger", budget="2")
    check_sentence(done, 3, "'new.ledger' cannot be written", "Free disk space")
    assert desk.files() == before


@pytest.mark.parametrize("size", [0, 5000])
@pytest.mark.parametrize("at", ["", "pay"])
def test_a_full_disk_takes_no_reservation(forks: Nursery, desk: Desk, size: int, at: str) -> None:
    before, entries = desk.files(), desk.ledger().entries()
    done = limited(forks, desk.folder, size=size, at=at, save="release.json")
    check_sentence(done, 3, "'people.ledger' cannot be", "Free disk space")
    assert desk.ledger().entries() == entries
    assert desk.files() == before


def check_paid_and_unseen(desk: Desk, done: Done) -> None:
    assert done.code == 1
    assert done.out == ""
    check_silence(done)
    assert done.last.endswith(STAYS_SPENT)
    assert set(done.err.splitlines()[:-1]) <= set(PROGRESS)
    assert desk.ledger().spent == PureDP(1)
    assert len(desk.ledger().verify().unsettled) == 1
    assert desk.ledger().verify().ok


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 33000])
def test_a_full_disk_after_the_look_keeps_the_payment(forks: Nursery, desk: Desk, size: int) -> None:
    (desk.folder / "long.toml").write_text(DOMAIN.replace("low = 0, high = 100, width = 10", "from = 0, to = 99"))
    before = desk.files()
    large = {"domain": "long.toml", "query": "ranges(AGE)"}
    done = limited(forks, desk.folder, size=size, at="store", save="release.json", **large)
    check_paid_and_unseen(desk, done)
    after = desk.files()
    assert {name: after[name] for name in before if name != "people.ledger"} == {
        name: content for name, content in before.items() if name != "people.ledger"
    }


def test_a_ledger_that_goes_away_after_the_look(forks: Nursery, desk: Desk) -> None:
    program = LIMITED.replace("limit(size)\n\n\nstage", "os.rename('people.ledger', 'away.ledger')\n\n\nstage")
    assert program != LIMITED
    names = {"size": -1, "at": "store", "user": 0, "words": ["release", "people.csv", *options()]}
    done = forks.run(program, desk.folder, **names)
    os.rename(desk.folder / "away.ledger", desk.folder / "people.ledger")
    check_paid_and_unseen(desk, done)


def test_a_ledger_that_goes_away_after_paying(forks: Nursery, desk: Desk) -> None:
    away = (
        "\nfrom gaugedp.ledger import Ledger\nreserve = Ledger.reserve\n"
        "Ledger.reserve = lambda *a, **b: (reserve(*a, **b), os.rename('people.ledger', 'away.ledger'))[0]\n"
    )
    program = LIMITED.replace("\nstage.show = show\n", away)
    names = {"size": -1, "at": "none", "user": 0, "words": ["release", "people.csv", *options()]}
    done = forks.run(program, desk.folder, **names)
    os.rename(desk.folder / "away.ledger", desk.folder / "people.ledger")
    check_paid_and_unseen(desk, done)


def _key(done: Done) -> str:
    assert "--key " in done.last, done.err
    return done.last.split("--key ")[1].split()[0].rstrip(".,;")


def check_free_again(desk: Desk, done: Done) -> dict[str, Any]:
    """The message names the key; under it the answer comes back, twice the same, at no cost."""
    spent = desk.ledger().spent
    check_silence(done)
    assert "costs nothing" in done.last
    (desk.folder / "answers.csv").unlink()
    first = desk.released(key=_key(done), out="answers.csv")
    again = desk.released(key=_key(done), save="release.json")
    assert first == again == json.loads((desk.folder / "release.json").read_text())
    assert (desk.folder / "answers.csv").read_text().startswith("SEX,query,estimate,lower,upper")
    assert desk.ledger().spent == spent == PureDP(1)
    assert desk.ledger().verify().ok
    return first


@pytest.mark.parametrize(("name", "path"), [("out", "answers.csv"), ("save", "release.json")])
def test_a_full_disk_at_the_answers_names_the_key(forks: Nursery, desk: Desk, name: str, path: str) -> None:
    done = limited(forks, desk.folder, size=10, at="write", **{name: path})
    assert (done.code, done.out) == (1, "")
    assert "could not be written" in done.last
    check_free_again(desk, done)


def test_a_full_disk_at_the_answers_keeps_a_key_of_ones_own(forks: Nursery, desk: Desk) -> None:
    done = limited(forks, desk.folder, size=10, at="write", key="my-key", save="release.json")
    assert _key(done) == "my-key"
    check_free_again(desk, done)


def test_a_full_disk_after_the_answers_does_not_deny_the_payment(forks: Nursery, desk: Desk) -> None:
    done = limited(forks, desk.folder, size=10, at="write")
    assert desk.ledger().spent == PureDP(1)
    assert "nothing was spent" not in done.err


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_full_disk_at_standard_output_names_the_key(forks: Nursery, desk: Desk, flags: list[str]) -> None:
    done = limited(forks, desk.folder, *flags, stdout="/dev/full")
    assert done.code == 1
    check_free_again(desk, done)


@pytest.mark.slow
def test_a_full_disk_leaves_the_answers_of_an_earlier_run(forks: Nursery, desk: Desk) -> None:
    before = (desk.folder / "answers.csv").read_bytes()
    done = limited(forks, desk.folder, size=10, at="write", out="answers.csv")
    assert "could not be written" in done.last
    assert (desk.folder / "answers.csv").read_bytes() == before
