"""A mutation fuzzer: valid inputs are damaged at random, and every outcome must be a result or a refusal in words.

Each kind makes its seeds, damages one, and tries it. A trial fails where it raises anything but one of the library's
own errors, gives a warning, says a word that only the data holds, or takes more than SECONDS.
"""

import json
import math
import os
import random
import signal
import sqlite3
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gaugedp as gd
from gaugedp.errors import GaugedpError
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.ledger import Reservation

SECONDS = 5.0
CANARY = "SECRET7731"  # in every row and every stored release, and nowhere else
DOMAIN_FILE = """
name = "people"
[unit]
neighbours = "replace"
column = "pid"
max_rows = 3
[attributes]
SEX = ["1", "2"]
AGE = { low = 0, high = 100, width = 10, outside = "other" }
EDU = { from = 1, to = 12 }
PLACE = { edges = [0, 1.5, 10] }
KIND = { values = ["a", "b"], outside = "drop" }
[columns]
PAY = { low = 0, high = 1000, step = 0.5, missing = "drop" }
"""
DOMAIN = gd.Domain.of(
    SEX=["1", "2"], AGE=gd.bins(0, 100, width=10), EDU=gd.integers(1, 12), PAY=gd.bounded(0, 1000, step=1)
)
QUERIES = [
    "SEX; AGE; SEX*AGE", "count", "prefix(AGE); ranges(EDU)", "sum(PAY); mean(PAY) by SEX", "median(PAY)",
    "quantiles(PAY, 0.1, 1/3, level=0.99) by SEX*EDU",
]  # fmt: skip
NASTY_TEXTS = [
    "", "0", "-1", "1e999", "nan", "inf", "-inf", "1" * 400, "9223372036854775808", "1/0", "null", "true", "{}", "[]",
    '"', "'", "\\", "\0", "\n", ";", "*", "(", ")", ",", "é", "\ud7ff", "=", "[[x]]", "..", "%s", "0x10", "1_0", "🎲",
]  # fmt: skip
NASTY_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 10**400, 2**63, 1e308, 5e-324, "", "x", "1/0", "nan", "1" * 5000, [], {}, [[]],
    [None], {"kind": "PureDP"}, [1, 2], float("nan"), float("inf"), [[10**18, 1]], [[10**9, 1.0]], "\0",
]  # fmt: skip


class Hang(BaseException):
    """A trial took too long."""


@dataclass
class Tally:
    """What became of the trials of one kind; `failures` are told by how often and an example."""

    kind: str
    trials: int = 0
    seconds: float = 0.0
    outcomes: Counter = field(default_factory=Counter)
    failures: dict[str, Any] = field(default_factory=dict)

    def fail(self, what: str, example: object) -> None:
        self.outcomes["failure"] += 1
        self.failures.setdefault(what, repr(example)[:2000])


# -- damage ----------------------------------------------------------------------------------------


def damaged_bytes(draw: random.Random, seed: bytes, others: list[bytes]) -> bytes:
    """Change, cut, repeat, insert or splice, one to eight times."""
    data = bytearray(seed)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = draw.randrange(len(data) + 1)
        end = min(len(data), at + int(draw.expovariate(1 / 12)) + 1)
        match draw.randrange(6):
            case 0 if at < len(data):
                data[at] ^= 1 << draw.randrange(8)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * draw.choice((1, 1, 3, 200))
            case 3:
                data[at:end] = draw.choice(NASTY_TEXTS).encode("utf-8", "surrogatepass")
            case 4:
                other = draw.choice(others)
                start = draw.randrange(len(other) + 1)
                data[at:end] = other[start : start + (end - at) * 2]
            case _:
                data[at:end] = draw.randbytes(end - at)
    return bytes(data)


def damaged_text(draw: random.Random, seeds: list[str]) -> str:
    actual = damaged_bytes(draw, draw.choice(seeds).encode(), [seed.encode() for seed in seeds])
    return actual.decode("utf-8", draw.choice(("replace", "ignore", "surrogateescape")))


def damaged_json(draw: random.Random, seeds: list[str]) -> str:
    """Change values in the tree half of the time, the text the other half."""
    if draw.random() < 0.5:
        return damaged_text(draw, seeds)
    tree = json.loads(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 2, 4))):
        change_tree(draw, tree)
    return json.dumps(tree)


def change_tree(draw: random.Random, tree: Any) -> None:
    """Put something else in the place of one value, or take it away."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = draw.choice(keys)
        if not isinstance(tree[key], dict | list) or not tree[key] or draw.random() < 0.25:
            break
        tree = tree[key]
    if draw.random() < 0.2:
        del tree[key]
    else:
        tree[key] = deepcopy(draw.choice([*NASTY_VALUES, tree[draw.choice(keys)]]))


# -- the kinds -------------------------------------------------------------------------------------

Trial = Callable[[random.Random], tuple[object, Callable[[], object]]]  # the input, for a report, and what to do


def domain_files(folder: Path) -> Trial:
    path, seeds = folder / "domain.toml", [DOMAIN_FILE]

    def trial(draw: random.Random) -> tuple[object, Callable[[], object]]:
        text = damaged_bytes(draw, DOMAIN_FILE.encode(), [seed.encode() for seed in seeds])
        path.write_bytes(text)
        return text, lambda: (repr(gd.Domain.load(path)), gd.Domain.load(path).n_cells(), gd.PrivacyUnit.load(path))

    return trial


def query_texts(_: Path) -> Trial:
    def trial(draw: random.Random) -> tuple[object, Callable[[], object]]:
        text = damaged_text(draw, QUERIES)
        return text, lambda: gd.query(DOMAIN, text).digest()

    return trial


def releases(folder: Path) -> Trial:
    seeds = release_seeds(folder)

    def read(text: str) -> object:
        release = gd.Release.from_json(text)
        release.interval(0.9), release.interval(0.95, simultaneous=True)
        return release.values.sum(), release.columns(), release.to_json(), repr(release)

    def trial(draw: random.Random) -> tuple[object, Callable[[], object]]:
        text = damaged_json(draw, seeds)
        return text, lambda: read(text)

    return trial


def release_seeds(folder: Path) -> list[str]:
    path, ledger = folder / "people.csv", gd.Ledger.in_memory(gd.PureDP(100))
    path.write_text(rows(30))
    table = gd.Table.scan(path, domain=DOMAIN, name="people")
    answers = [
        gd.release(gd.query(DOMAIN, text), table, ledger=ledger, epsilon=1.0)
        for text in ("SEX", "count; mean(PAY) by SEX", "quantiles(PAY, 0.5)")
    ]
    return [answers[0].processed("non_negative").to_json(), *(answer.to_json() for answer in answers)]


def rows(count: int) -> str:
    lines = [f"{1 + i % 2},{i % 99},{1 + i % 12},{i}.{CANARY},{CANARY}-{i}" for i in range(count)]
    return "\n".join(["SEX,AGE,EDU,PAY,NOTE", *lines, ""])


def fit_releases(_: Path) -> Trial:
    guarantees = [gd.ApproxDP(1.0, 1e-6), gd.PureDP(1.0), gd.ZCDP(0.5), 2 * gd.GaussianDP(0.5) + gd.PureDP(0.1)]
    facts = {"solver": "gradient", "bounds": [[0, 1], [2, 3]], "steps": 10}
    values = {"coefficients": np.arange(6.0).reshape(2, 3), "intercept": np.array([0.5])}
    seeds = [FitRelease("Lasso", values, guarantee, "exact", facts).to_json() for guarantee in guarantees]

    def read(text: str) -> object:
        fit = FitRelease.from_json(text)
        return fit.to_json(), repr(fit), fit.guarantee.to_dict()

    def trial(draw: random.Random) -> tuple[object, Callable[[], object]]:
        text = damaged_json(draw, seeds)
        return text, lambda: read(text)

    return trial


def guarantees(_: Path) -> Trial:
    from gaugedp.guarantees import json as guarantee_json

    made = [
        gd.PureDP(1.0), gd.ApproxDP(1, 1e-6), gd.ZCDP(0.5), gd.GaussianDP(1.0), gd.RenyiDP([2.0, 4.0], [0.1, 0.3]),
        gd.guarantees.LaplaceLoss(2.0), gd.guarantees.FiniteLoss([0.5, 0.5], [0.25, 0.75]), 3 * gd.PureDP(0.1),
        gd.guarantees.SubsampledGaussian(0.01, 1.0), gd.guarantees.RandomizedResponseLoss(1.0),
    ]  # fmt: skip
    seeds = [guarantee_json.to_json(guarantee) for guarantee in made]

    def trial(draw: random.Random) -> tuple[object, Callable[[], object]]:
        text = damaged_json(draw, seeds)
        return text, lambda: guarantee_json.from_json(text).to_dict()

    return trial


def tables(folder: Path) -> Trial:
    path, seed = folder / "rows.csv", rows(8).encode()
    totals = [gd.tables.table.Aggregate(("SEX", "AGE")), gd.tables.table.Aggregate(("EDU",), "PAY")]

    def trial(draw: random.Random) -> tuple[object, Callable[[], object]]:
        data = damaged_bytes(draw, seed, [seed])
        path.write_bytes(data)
        return data, lambda: gd.Table.scan(path, domain=DOMAIN).totals(totals, b"key")

    return trial


def ledgers(folder: Path) -> Trial:
    seed = ledger_seed(folder)

    def read(path: Path) -> object:
        ledger = gd.Ledger.open(path, timeout=0)
        shown = ledger.spent, ledger.remaining, ledger.total, ledger.entries(), ledger.verify(), repr(ledger)
        key = {"guarantees": [gd.PureDP(0.1)], "table": "people", "unit": gd.PrivacyUnit(), "request": {"query": "SEX"}}
        results = [ledger.reserve(**key, key="key-0"), ledger.reserve(**key, key="new")]
        return shown, [ledger.settle(one, b"x") for one in results if isinstance(one, Reservation)]

    def trial(draw: random.Random) -> tuple[object, Callable[[], object]]:
        path = folder / "people.ledger"
        for old in folder.glob("people.ledger*"):
            old.unlink()
        path.write_bytes(seed if draw.random() < 0.5 else damaged_pages(draw, seed))
        said = "pages" if path.read_bytes() != seed else change_entries(draw, path)
        return said, lambda: read(path)

    return trial


def ledger_seed(folder: Path) -> bytes:
    path = folder / "seed.ledger"
    ledger = gd.Ledger.open(path, gd.PureDP(2.0))
    unit, request = gd.PrivacyUnit(), {"query": "SEX"}
    for number in range(4):
        actual = ledger.reserve([gd.PureDP(0.1)], table="people", unit=unit, request=request, key=f"key-{number}")
        if number < 3:
            ledger.settle(actual, f"{CANARY} {number}".encode() * 20)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def damaged_pages(draw: random.Random, seed: bytes) -> bytes:
    """Change a few bytes anywhere, or cut the end off, or swap two pages."""
    data = bytearray(seed)
    match draw.randrange(5):
        case 0:
            del data[draw.randrange(len(data)) :]
        case 1:
            a, b = (4096 * draw.randrange(len(data) // 4096) for _ in range(2))
            data[a : a + 4096], data[b : b + 4096] = data[b : b + 4096], data[a : a + 4096]
        case _:
            places = [i for i, byte in enumerate(data) if byte] if draw.random() < 0.8 else range(len(data))
            for _ in range(draw.choice((1, 1, 2, 10))):
                data[draw.choice(places)] = draw.randrange(256)
    return bytes(data)


def change_entries(draw: random.Random, path: Path) -> str:
    """Write something else into an entry or the head, behind the back of the guards."""
    column = draw.choice(["kind", "key", "promise", "charge", "request", "released", "spent", "time", "tip", "number"])
    value = draw.choice(
        [None, "", "1", "-5", "x", "9" * 500, "{}", '{"kind":"PureDP","epsilon":9}', b"\xff", 2**62, 1.5]
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        try:
            if draw.random() < 0.25:
                connection.execute(f"UPDATE head SET {draw.choice(['entries', 'spent', 'tip'])} = ?", [value])
            else:
                chosen = draw.randrange(1, 10)
                connection.execute(f"UPDATE OR IGNORE entry SET {column} = ? WHERE number = ?", [value, chosen])
        except sqlite3.IntegrityError:
            pass
        for _, text in guards if draw.random() < 0.8 else []:
            connection.execute(text)
    return f"{column} = {value!r}"


KINDS: dict[str, Callable[[Path], Trial]] = {
    "domain files": domain_files,
    "query texts": query_texts,
    "releases": releases,
    "fit releases": fit_releases,
    "guarantees": guarantees,
    "tables": tables,
    "ledgers": ledgers,
}
COST = {"tables": 300, "ledgers": 50, "releases": 3}  # about how many times longer than the others


def shares(total: int) -> dict[str, int]:
    """How many of `total` trials each kind gets: the fewer, the longer they take."""
    weights = {kind: 1 / COST.get(kind, 1) for kind in KINDS}
    return {kind: math.ceil(total * weight / sum(weights.values())) for kind, weight in weights.items()}


# -- trials ----------------------------------------------------------------------------------------


def run(kind: str, count: int, folder: Path, seed: int = 0, beat: Callable[[int], object] = int) -> Tally:
    """Make `count` trials of a kind in `folder`; `beat` is told the number of each as it begins."""
    tally, trial, start = Tally(kind), KINDS[kind](folder), time.perf_counter()
    before = signal.signal(signal.SIGALRM, _too_long)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for number in range(count):
                beat(number)
                drawn = partial(random.Random, f"{kind} {seed} {number}")
                if not one(tally, *trial(drawn())) and not one(tally, *trial(drawn())):
                    tally.fail("a hang", trial(drawn())[0])  # twice: once may be the machine's fault
    finally:
        signal.signal(signal.SIGALRM, before)
    tally.trials, tally.seconds = count, time.perf_counter() - start
    return tally


def one(tally: Tally, example: object, work: Callable[[], object]) -> bool:
    """Try once, and note the outcome; return whether there was one in time."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        work()
        tally.outcomes["result"] += 1
    except GaugedpError as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        tally.outcomes[type(error).__name__] += 1
        check_words(tally, example, error)
    except Hang:
        return False
    except (Exception, SystemExit) as error:  # this is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        tally.fail(f"{type(error).__name__} in {os.path.basename(where.filename)}:{where.lineno} {where.name}", example)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True


def check_words(tally: Tally, example: object, error: GaugedpError) -> None:
    """A refusal is a sentence, and neither it nor what would be printed with it holds a word of the data."""
    if not str(error).strip().endswith((".", ")")):
        tally.fail(f"no sentence: {error}", example)
    if CANARY in "".join(traceback.format_exception(error)):
        tally.fail(f"a value of the data in {type(error).__name__}: {error.do}", example)


def _too_long(*_: object) -> None:
    raise Hang
