"""Intervals on the example's rows: how often they hold the true counts.

Six attributes of the example, all their one- and two-way marginals, ε = 1, 400 repetitions with fixed keys. The
95 % intervals of single answers hold 94.5 to 97 % of the truths: 400 repetitions of some 500 independent answers have a
standard error of 0.05 %. All at once they hold in at least 95 % of the repetitions, less three standard errors (1.1 %
each). With fresh keys a check of one level and kind would alarm falsely about once in 400 times; the keys are fixed.
"""

import csv
from collections import Counter
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd

pytestmark = pytest.mark.statistical

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "acs"
ROWS = FOLDER / "acs_ma2018.csv"
NAMES = ("SEX", "AGEP", "HISP", "EDU", "OWN_RENT", "DPHY")
SETS = [*combinations(NAMES, 1), *combinations(NAMES, 2)]
N_RUNS = 400


@pytest.fixture(scope="module")
def domain() -> gd.Domain:
    return gd.Domain.load(FOLDER / "domain.toml")


@pytest.fixture(scope="module")
def query(domain):
    return gd.marginals(domain, *SETS)


def cell(name: str, text: str) -> str:
    """The label of a value, by hand: ages in tens, everything else as written."""
    if name != "AGEP":
        return text
    low = min(int(text) // 10, 9) * 10
    return f"[{low},{low + 10}{']' if low == 90 else ')'}"


@pytest.fixture(scope="module")
def truth(domain) -> np.ndarray:
    """The counts, read from the file with nothing of the library but the order of its labels."""
    with ROWS.open(newline="") as file:
        rows = [{name: cell(name, row[name]) for name in NAMES} for row in csv.DictReader(file)]
    known = {name: set(domain.attribute(name).labels) for name in NAMES}
    kept = [row for row in rows if all(row[name] in known[name] for name in NAMES)]
    answers = []
    for names in SETS:
        counts = Counter(tuple(row[name] for name in names) for row in kept)
        answers += [counts[labels] for labels in product(*(domain.attribute(name).labels for name in names))]
    return np.array(answers)


def test_the_rows_are_all_there(truth) -> None:
    assert truth[:2].sum() == 7244
    assert (truth >= 0).all()


def test_the_table_counts_what_the_file_says(domain, query, truth) -> None:
    table = gd.Table.scan(ROWS, domain=domain, unit=gd.PrivacyUnit.load(FOLDER / "domain.toml"))
    assert query.evaluate(table, bytes(16)).tolist() == truth.tolist()


def repeated(mechanism, answer: np.ndarray):
    """The mechanism, the answer, and 400 releases of it."""
    return mechanism, answer, np.array([mechanism.prepare(gd.research_rng(key))(answer) for key in range(N_RUNS)])


@pytest.fixture(scope="module", params=["Laplace", "Gaussian", "Identity"])
def noisy(request, domain, query, truth):
    """Noise on all answers, or on the cells of the three attributes whose marginals are few enough for draws."""
    body = query.sensitivity(gd.PrivacyUnit())
    if request.param == "Laplace":
        return repeated(gd.Laplace.calibrate(body, gd.PureDP(1.0)), truth)
    if request.param == "Gaussian":
        return repeated(gd.Gaussian.calibrate(body, gd.ApproxDP(1.0, 1e-6)), truth)
    few = {"*".join(names) for size in (1, 2) for names in combinations(("SEX", "HISP", "EDU"), size)}
    mechanism = gd.Identity.calibrate(gd.query(domain, "; ".join(few)).sensitivity(gd.PrivacyUnit()), gd.PureDP(1.0))
    return repeated(mechanism, np.arange(mechanism.body.ambient_dim))


def spare(mechanism, level: float) -> float:
    """By how much intervals may hold too often: Identity's are raised by three standard errors of its draws."""
    return 0.03 * (level * (1 - level)) ** 0.5 if mechanism.name == "Identity" else 0.0


def test_intervals_hold_the_truth_as_often_as_they_say(noisy) -> None:
    mechanism, answer, values = noisy
    for level in (0.5, 0.8, 0.95, 0.99):
        error, width = np.abs(values - answer), mechanism.half_widths(level)
        assert (error <= width).mean() >= level - 0.005
        assert (error < width).mean() <= level + 0.005 + spare(mechanism, level)  # the last lattice point is needed
        assert level != 0.95 or 0.945 <= (error <= width).mean() <= 0.97


def test_all_intervals_hold_at_once_as_often_as_they_say(noisy) -> None:
    mechanism, answer, values = noisy
    for level in (0.5, 0.8, 0.95, 0.99):
        error, width = np.abs(values - answer), mechanism.half_widths(level, simultaneous=True)
        chance = 3 * (level * (1 - level) / N_RUNS) ** 0.5
        assert (error <= width).all(axis=1).mean() >= level - chance
        assert (error < width).all(axis=1).mean() <= level + chance + spare(mechanism, level)


def test_the_noise_is_as_large_as_planned(noisy) -> None:
    mechanism, answer, values = noisy
    lengths = np.linalg.norm(values - answer, axis=1)
    slack = 4 * lengths.std() / N_RUNS**0.5 + 0.02 * lengths.mean()
    assert lengths.mean() == pytest.approx(mechanism.error(2), abs=slack)


GUARANTEES = [pytest.param({"rho": 0.5}, id="a mechanism for rho"), pytest.param({"epsilon": 1.0}, id="as planned")]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_release_of_the_example_holds_the_truth(domain, query, truth, guarantee) -> None:
    table = gd.Table.scan(ROWS, domain=domain)
    if "rho" in guarantee:
        guarantee = {"mechanism": gd.Gaussian.calibrate(query.sensitivity(table.unit), gd.ZCDP(guarantee["rho"]))}
    ledger = gd.Ledger.in_memory(gd.ZCDP(1))
    answer = gd.release(query, table, ledger=ledger, rng=gd.research_rng(1), **guarantee)
    low, high = answer.interval(0.95)
    assert 0.92 <= ((low <= truth) & (truth <= high)).mean() <= 0.98
    assert answer.values == pytest.approx((low + high) / 2)
    low, high = answer.interval(0.999, simultaneous=True)
    assert ((low <= truth) & (truth <= high)).all()
    assert [label for _, label in answer.labels[:2]] == ["SEX=1", "SEX=2"]


def test_means_hold_the_truth(domain) -> None:
    """Means by group end to end: their intervals are wider than they must be, never narrower."""
    table, query = gd.Table.scan(ROWS, domain=domain), gd.bounded_means(domain, "POVPIP", by="SEX")
    with ROWS.open(newline="") as file:
        rows = [(row["SEX"], row["POVPIP"]) for row in csv.DictReader(file)]
    values = {sex: [min(max(float(v), 0), 501) for s, v in rows if s == sex and v not in ("", "N")] for sex in "12"}
    means = np.array([np.mean(values[sex]) for sex in "12"])
    held = []
    for key in range(12):
        ledger = gd.Ledger.in_memory(gd.PureDP(1))
        answer = gd.release(query, table, ledger=ledger, epsilon=0.1, rng=gd.research_rng(key))
        low, high = answer.interval(0.9)
        held.append((low <= means) & (means <= high))
        assert ((high - low) < 100).all()
    assert np.mean(held) >= 0.8
