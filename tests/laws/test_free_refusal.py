"""Law: a refusal is free. No ledger byte changes, no file appears, and no row is read.

In a random world with a ledger file, wrong requests of many kinds are made: in Python, to every part of the library
that charges, and by the command line. Each must be refused.

Exception: a stream that is refused by its ledger leaves an empty lock file next to the place of its state.
"""

import contextlib
import io
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from gaugedp.errors import GaugedpError
from gaugedp.releases.streams import Stream
from gaugedp.synthesis.adaptive import release_adaptively
from gaugedp.tables.table import Table
from tests.laws import fits, worlds
from tests.laws.kit import batches, generator

LAW = "free_refusal"
COVERS = {
    "terms": {worlds.CELLS, worlds.PRODUCT, *worlds.WORDS},
    "estimators": set(fits.NAMES),
    "guarantees": {"PureDP", "ApproxDP", "ZCDP", "GaussianDP"},
}
PEOPLE = "world"
SECONDS = 0.2  # a lock is waited for; none is held
_READERS = ("totals", "moments", "vector_sum", "rows")  # the only ways to the rows of a table
_EACH = 2  # wrong requests in each world
TOO_MUCH = 1e9  # an epsilon that no ledger holds: test_too_much_is_more_than_any_ledger_holds


@dataclass(frozen=True)
class Place:
    """A world with its files: a table, a domain file, and a ledger that has paid for one release."""

    world: worlds.World
    folder: Path
    table: Table
    ledger: gd.Ledger

    @property
    def path(self) -> Path:
        """The ledger file."""
        return self.folder / "people.ledger"

    @property
    def rng(self) -> np.random.Generator:
        """The generator of the world."""
        return self.world.rng

    def release(self, **given: Any) -> object:
        """Release the query of the world, with other arguments where they are given."""
        usual = {"query": self.world.query, "table": self.table, "ledger": self.ledger, **self.world.budget}
        return gd.release(**{**usual, **given})

    def command(self, *words: str) -> None:
        """Run a command that must be refused."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(list(words))
        if code in (2, 3):
            raise Refused(err.getvalue())

    def options(self, **chosen: str | None) -> list[str]:
        """Return the options of a release; None leaves one out."""
        budget = {name: repr(value) for name, value in self.world.budget.items()}
        usual = {"domain": self.name("domain.toml"), "query": self.world.query_text, "ledger": str(self.path), **budget}
        return [w for name, text in {**usual, **chosen}.items() if text is not None for w in (f"--{name}", text)]

    def name(self, file: str) -> str:
        """Return the path of a file in the folder, as a text."""
        return str(self.folder / file)


class Refused(GaugedpError):
    """A command that was refused."""

    def __init__(self, said: str) -> None:
        super().__init__(said, "", "")


Request = Callable[[Place], object]
NUMBERS: list[Any] = [float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e-320, "1", [1.0], 1j, b"1", {}]
KEYS: list[Any] = ["", "x" * 1001, "\0", 5, b"key", ["a"], 1.5, "\ud800"]
TABLES: list[Any] = ["people.csv", 5, [], {}]
LEDGERS: list[Any] = ["people.ledger", 5, gd.PureDP(1), []]


def _pick(place: Place, values: list[Any]) -> Any:
    return values[int(place.rng.integers(len(values)))]


def _wrong_number(place: Place) -> object:
    """A number of the budget that is none; a δ of 0 or of next to nothing is one."""
    name = _pick(place, list(place.world.budget))
    return place.release(**{name: _pick(place, [v for v in NUMBERS if name != "delta" or v not in (0.0, 1e-320)])})


def _other_world(place: Place) -> worlds.World:
    return worlds.world(place.rng, budget="pure", rows=5)


def _unit(place: Place) -> gd.PrivacyUnit:
    unit = place.world.unit
    other = "replace" if unit.neighbours == "add_remove" else "add_remove"
    return _pick(place, [replace(unit, neighbours=other), gd.PrivacyUnit("somebody", unit.neighbours, max_rows=2)])


def _without_a_file(place: Place) -> object:
    """A release from a ledger whose file is gone, which comes back afterwards."""
    away = place.folder / "away"
    shutil.move(place.path, away)
    try:
        return place.release()
    finally:
        assert not place.path.exists()
        shutil.move(away, place.path)


def _replaced(place: Place) -> object:
    """A release from a ledger in whose place is another one, which goes away afterwards."""
    away = place.folder / "away"
    shutil.move(place.path, away)
    gd.Ledger.open(place.path, worlds.ample(place.world.budget))
    before = place.path.read_bytes()
    try:
        return place.release()
    finally:
        assert place.path.read_bytes() == before
        shutil.move(away, place.path)


def _model(place: Place, **given: Any) -> Any:
    fit = fits.fit_of(place.rng, n_rows=20, **given)
    return fit, fit.model(ledger=place.ledger)


def _badly_shaped(place: Place) -> object:
    """Rows that no fit takes; no rows are some where their number is private."""
    fit, model = _model(place)
    rows, target = fit.rows, fit.target
    wrong = [(rows[:, 0], target), (rows, target[:-1]), (rows[None], target)]
    wrong += [(rows[:0], target[:0])] * (model.get_params().get("neighbours") == "replace")
    wrong += [(rows, None)] * ("target_bounds" in fit.parameters)
    X, y = _pick(place, wrong)
    if X is rows and "target_bounds" not in fit.parameters and "classes" not in fit.parameters:
        X = rows[:, 0]  # y is not used
    return model.fit(X, y)


def _too_large_a_fit(place: Place) -> object:
    fit, model = _model(place)
    return model.set_params(epsilon=TOO_MUCH).fit(fit.rows, fit.target)


def _wrong_parameter(place: Place) -> object:
    fit, model = _model(place)
    return model.set_params(epsilon=_pick(place, NUMBERS)).fit(fit.rows, fit.target)


def _keys(place: Place, **given: Any) -> object:
    attribute = _pick(place, [*place.world.domain.attributes, "nobody"])
    guarantee = _pick(place, [gd.PureDP(1), gd.ApproxDP(1, 1e-6), gd.ZCDP(1), "1"])
    return gd.release_keys(place.table, attribute, guarantee, ledger=place.ledger, **given)


def _stream(place: Place, **given: Any) -> object:
    path = _pick(place, [place.folder / "stream", place.folder / "nowhere" / "stream", 5])
    facts = {"periods": 4, "ledger": place.ledger, "epsilon": 1.0, "delta": None, **given}
    return Stream.open(path, place.world.query, place.world.unit, **facts)


def _publication(place: Place) -> object:
    _, lines = _pick(
        place,
        [
            ("a title", 'title = 5\n[[tables]]\nquery = "count"'),
            ("no tables", 'title = "T"'),
            ("a query", 'title = "T"\nepsilon = 0.1\n[[tables]]\nquery = "NOBODY"'),
            ("a number", 'title = "T"\nepsilon = -1\n[[tables]]\nquery = "count"'),
            ("a format", 'title = "T"\nepsilon = 0.1\nformats = ["doc"]\n[[tables]]\nquery = "count"'),
        ],
    )
    path = place.folder / "publication.toml"
    path.write_text(f'data = "people.csv"\n{lines}\n', "utf-8")
    try:
        return place.command("publish", str(path), "--ledger", str(place.path), "--out", place.name("published"))
    finally:
        path.unlink()


def _bad_output(place: Place) -> object:
    option = _pick(place, ["out", "report", "save"])
    files = ["nowhere/x.csv", "x.pdf", "x.sas7bdat", "x.docx", ".", "domain.toml", "people.csv", "people.ledger"]
    chosen = {option: place.name(_pick(place, files))}
    return place.command("release", place.name("people.csv"), *place.options(**chosen))


def _bad_word(place: Place) -> object:
    name = _pick(place, ["query", "domain", "ledger", "budget", "key", *place.world.budget])
    texts = {
        "query": ["", "NOBODY", "count(", ";"],
        "domain": ["nowhere.toml", ""],
        "ledger": ["/nowhere/x", ":memory:"],
    }
    numbers = ["nan", "inf", "-1", "word", "", "1,5", *["0"] * (name != "delta")]
    chosen = {name: _pick(place, texts.get(name, ["", "word"] if name == "budget" else numbers))}
    chosen = {"key": _pick(place, ["", "x" * 1001, "paid", "open"])} if name == "key" else chosen
    return place.command("release", place.name("people.csv"), *place.options(**chosen))


# Wrong words of every command but `release` and `publish`, which have more; words in capitals are files of a place.
_BOTH, _ASKED = ("--domain", "DOMAIN", "--ledger", "LEDGER"), ("--domain", "DOMAIN", "--query", "NOBODY")
COMMANDS: dict[str, tuple[str, ...]] = {
    "audit": (*_ASKED, "--epsilon", "1"),
    "check": ("TABLE", "--domain", "nowhere.toml"),
    "completion": ("nosh",),
    "derive": ("TABLE", "--query", "count", "--out", "x.csv"),
    "doctor": ("one", "two"),
    "domain": ("TABLE", "--out", "nowhere/x.toml"),
    "explore": ("--domain", "DOMAIN", "--query", "count", "--out", "nowhere/x.html"),
    "fit": ("TABLE", *_BOTH, "--model", "linear", "--features", "nobody", "--target", "nobody", "--epsilon", "1"),
    "geometry": _ASKED,
    "guarantee": ("--epsilon", "-1"),
    "keys": ("TABLE", *_BOTH, "--attribute", "nobody", "--epsilon", "1", "--delta", "1e-6"),
    "ledger open": ("LEDGER", "--budget", "123.5"),
    "ledger report": ("LEDGER", "--out", "nowhere/x.html"),
    "ledger show": ("TABLE",),
    "ledger verify": ("TABLE",),
    "plan": (*_ASKED, "--epsilon", "1"),
    "predict": ("TABLE", "--domain", "DOMAIN", "--model", "TABLE", "--out", "x.csv"),
    "recommend": ("TABLE", "--domain", "DOMAIN", "--model", "TABLE", "--out", "x.csv"),
    "rows": ("LEDGER", "--key", "open", "--out", "x.csv"),
    "sql": ("SELECT nobody FROM people", "TABLE", *_BOTH, "--epsilon", "1"),
    "stream next": ("TABLE", "TABLE", "--ledger", "LEDGER"),
    "stream open": ("STATE", *_BOTH, "--query", "count", "--epsilon", "1", "--periods", "4"),
}
COVERS["commands"] = {"release", "publish", *COMMANDS}


def _command(place: Place, name: str) -> object:
    files = {"DOMAIN": "domain.toml", "LEDGER": place.path.name, "TABLE": "people.csv", "STATE": "stream"}
    paths = files | {word: word for word in COMMANDS[name] if word.endswith((".csv", ".toml", ".html"))}
    named = [place.name(paths[word]) if word in paths else word for word in COMMANDS[name]]
    return place.command(*name.split(), *named)


REQUESTS: dict[str, Request] = {
    "budget exceeded": lambda place: place.release(
        **{name: 1e7 * v for name, v in place.world.budget.items() if name != "delta"}
    ),
    "wrong number": _wrong_number,
    "no guarantee": lambda place: place.release(**dict.fromkeys(place.world.budget)),
    "two guarantees": lambda place: place.release(epsilon=0.1, rho=0.1, mu=0.1),
    "unknown attribute": lambda place: place.release(query=gd.query(place.world.domain, "NOBODY")),
    "a query of another kind": lambda place: place.release(query=_pick(place, ["count", 5, None, []])),
    "a query of another domain": lambda place: place.release(query=_other_world(place).query),
    "a table of another kind": lambda place: place.release(table=_pick(place, TABLES)),
    "a ledger of another kind": lambda place: place.release(ledger=_pick(place, LEDGERS)),
    "wrong unit": lambda place: place.release(table=replace(place.table, unit=_unit(place))),
    "wrong table": lambda place: place.release(table=replace(place.table, name="another")),
    "bad key": lambda place: place.release(key=_pick(place, KEYS)),
    "a key of another request": lambda place: place.release(key="paid"),
    "a key without an answer": lambda place: place.release(key="open"),
    "unknown step": lambda place: place.release(processing=_pick(place, ["smooth", ["rounded", "x"], 5])),
    "a mechanism of another kind": lambda place: place.release(mechanism=_pick(place, ["laplace", 5])),
    "a mechanism for another query": lambda place: place.release(
        mechanism=gd.plan(_other_world(place).query, gd.PrivacyUnit(), epsilon=0.1).mechanism
    ),
    "a plan of another kind": lambda place: place.release(planned="plan"),
    "noise of another kind": lambda place: place.release(noise=5),
    "a ledger that is gone": _without_a_file,
    "a ledger that was replaced": _replaced,
    "a reservation of another kind": lambda place: place.ledger.settle(_pick(place, ["open", None, 5]), b"x"),
    "an adaptive release": lambda place: release_adaptively(
        place.world.query, place.table, ledger=place.ledger, epsilon=_pick(place, NUMBERS), key=_pick(place, KEYS)
    ),
    "keys that are known": _keys,
    "keys for a bad key": lambda place: _keys(place, key=_pick(place, KEYS)),
    "a stream without delta": _stream,
    "a stream without periods": lambda place: _stream(place, periods=_pick(place, [0, -1, 1.5, "4"]), delta=1e-6),
    "a stream that costs too much": lambda place: _stream(place, epsilon=TOO_MUCH, delta=1e-6),
    "rows of another shape": _badly_shaped,
    "a fit that costs too much": _too_large_a_fit,
    "a fit with a wrong number": _wrong_parameter,
    "a publication": _publication,
    "a file that cannot be written": _bad_output,
    "a wrong word": _bad_word,
    "another command": lambda place: _command(place, _pick(place, list(COMMANDS))),
}


@pytest.fixture(autouse=True)
def unread(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No row of a table is read: what would read one is noted, and fails."""
    read: list[str] = []

    def refuse(name: str) -> Callable[..., object]:
        def reading(*_: object, **__: object) -> object:
            read.append(name)
            raise AssertionError(f"{name} read the rows")

        return reading

    for name in _READERS:
        monkeypatch.setattr(Table, name, refuse(name))
    return read


def place_of(rng: np.random.Generator, folder: Path, **given: Any) -> Place:
    """Return a random world whose ledger has one answer, under "paid", and one reservation, under "open"."""
    world = worlds.world(rng, **{"rows": int(rng.integers(0, 20)), "n_terms": 1, "most_cells": 8, **given})
    world.domain_file(folder)
    world.source("csv", folder)
    (next(path for path in folder.glob("*.csv") if path.name not in world.files)).rename(folder / "people.csv")
    ledger = gd.Ledger.open(folder / "people.ledger", worlds.ample(world.budget, 1e3), timeout=SECONDS)
    table = gd.Table.scan(str(folder / "people.csv"), domain=world.domain)
    guarantees = [gd.ApproxDP(*world.budget.values()) if "delta" in world.budget else worlds.ample(world.budget, 1)]
    for key in ("paid", "open"):
        about = {"table": table.name, "unit": world.unit, "request": {"query": "count", "of": key}}
        reservation = ledger.reserve(guarantees, key=key, **about)
        if key == "paid":
            ledger.settle(reservation, b"an answer")
    return Place(world, folder, table, ledger)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, with its bytes; the lock of a stream is no output."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "stream.lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def check_free(place: Place, name: str, read: list[str]) -> None:
    """Insist that a request is refused for nothing."""
    before, state = contents(place.folder), (place.ledger.spent, place.ledger.tip, len(place.ledger.entries()))
    with pytest.raises((GaugedpError, ValueError, TypeError)):
        REQUESTS[name](place)
    assert not read, f"rows were read by {read}"
    after = contents(place.folder)
    assert after.keys() == before.keys(), f"files: {after.keys() ^ before.keys()}"
    assert after == before, f"changed: {[path for path in after if after[path] != before[path]]}"
    assert (place.ledger.spent, place.ledger.tip, len(place.ledger.entries())) == state


@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
@pytest.mark.parametrize("cases", batches(LAW, 5), ids=lambda cases: f"{cases.start}-{cases.stop - 1}")
def test_a_refusal_is_free(cases: range, tmp_path: Path, unread: list[str]) -> None:
    for case in cases:
        rng, folder = generator(LAW, case), tmp_path / str(case)
        folder.mkdir()
        place = place_of(rng, folder)
        names = list(REQUESTS)
        chosen = [names[case % len(names)], *rng.choice(names, _EACH - 1)]
        for name in map(str, chosen):
            try:
                check_free(place, name, unread)
            except (AssertionError, pytest.fail.Exception) as error:
                said = f"case {case}: {name}: {error}; {place.world.query_text!r}, {place.world.budget}"
                raise AssertionError(said) from error


@pytest.mark.parametrize("name", REQUESTS)
def test_every_kind_of_request_is_refused(name: str, tmp_path: Path, unread: list[str]) -> None:
    check_free(place_of(generator(LAW, 10**6), tmp_path), name, unread)


def test_every_command_is_refused(tmp_path: Path, unread: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_of(generator(LAW, 10**6), tmp_path)
    for name in COMMANDS:
        monkeypatch.setitem(REQUESTS, name, lambda place, name=name: _command(place, name))
        check_free(place, name, unread)


@pytest.mark.parametrize("budget", [{"epsilon": 100}, {"epsilon": 100, "delta": 0.01}, {"rho": 100}, {"mu": 31.7}])
def test_too_much_is_more_than_any_ledger_holds(budget: dict[str, float]) -> None:
    """The budgets are the largest of `worlds.BUDGETS`. 10⁸ would not do: PureDP(10⁸) implies GaussianDP(28285)."""
    ledger = gd.Ledger.in_memory(worlds.ample(budget, 1e3))
    for guarantee in (gd.PureDP(TOO_MUCH), gd.ApproxDP(TOO_MUCH, 1e-6)):
        with pytest.raises(gd.errors.LedgerRefused):
            ledger.reserve([guarantee], table="t", unit=gd.PrivacyUnit(), request={})


def test_what_is_not_free_is_found(tmp_path: Path, unread: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The law's own control, in one fixed world: in some random ones the release is refused for its noise."""
    place = place_of(np.random.default_rng(45), tmp_path, words=[worlds.CELLS], budget="zcdp", rows=5)

    def charged(_: Place) -> object:
        guarantees = [worlds.ample(place.world.budget, 1)]
        place.ledger.reserve(guarantees, table=place.table.name, unit=place.world.unit, request={})
        raise ValueError

    def written(_: Place) -> object:
        (tmp_path / "left").write_text("behind")
        raise ValueError

    def looked(_: Place) -> object:
        return place.release()

    for act in (charged, written, looked):
        monkeypatch.setitem(REQUESTS, "a fault", act)
        with pytest.raises(AssertionError):
            check_free(place, "a fault", unread)
        unread.clear()
