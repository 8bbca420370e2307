"""P-values of released numbers: their level, their power, and where they appear."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries import Workload, builders
from gaugedp.releases.conclusions import concluded
from gaugedp.statistics import p_value
from gaugedp.statistics.base import read_statistic
from gaugedp.statistics.equal_means import EqualMeans, EqualMeansByBounds
from gaugedp.statistics.independence import EqualShares, Independence

DOMAIN = gd.Domain.of(a=["u", "w", "x"], b=["p", "q"], r=["s", "t"], v=gd.bounded(0, 100))
UNIT = gd.PrivacyUnit()
RUNS, LEVEL = 500, 0.05
ERROR = 4 * math.sqrt(LEVEL / RUNS)  # four standard errors


def frame(n: int, effect: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Return rows in which b and v depend on a by an effect."""
    rng = np.random.default_rng(seed)
    a, r = rng.integers(0, 3, n), rng.integers(0, 2, n)
    b = (rng.random(n) < 0.5 + effect * (a == 1)).astype(int)
    values = np.clip(40 + 100 * effect * b + 15 * rng.normal(size=n), 0, 100)
    return pd.DataFrame(
        {"a": np.array(["u", "w", "x"])[a], "b": np.array(["p", "q"])[b], "r": np.array(["s", "t"])[r], "v": values}
    )


def released(text: str, rows: pd.DataFrame, seed: int = 1, **budget: float) -> gd.Release:
    table = gd.Table.scan(rows, domain=DOMAIN)
    ledger = gd.Ledger.in_memory(gd.PureDP(1e6) if "epsilon" in budget else gd.ZCDP(1e6))
    return gd.release(gd.query(DOMAIN, text), table, ledger=ledger, rng=gd.research_rng(seed), **budget)


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(p_value, "_MOST_DRAWS", 199)
    monkeypatch.setattr(p_value, "_LEAST_DRAWS", 199)


def alarms(query: Workload, tables: np.ndarray, runs: int = RUNS, **budget: float) -> float:
    """Return how often the first test rejects, of tables (runs, n_released) in their units with noise."""
    mechanism = gd.plan(query, UNIT, **budget).mechanism
    noisy = np.rint(tables / query.steps.sizes + mechanism.trial_noise(runs, 11))
    values = [concluded(query, mechanism, numbers)[0].answers(numbers)[0] for numbers in noisy]
    return float(np.mean(np.array(values) <= LEVEL))


def multinomial(cells: np.ndarray, n: int, runs: int = RUNS) -> np.ndarray:
    return np.random.default_rng(7).multinomial(n, cells.ravel(), size=runs).astype(float)


def pair(rows: int, columns: int) -> Workload:
    names = {"a": [str(i) for i in range(rows)], "b": [str(i) for i in range(columns)]}
    return gd.query(gd.Domain.of(**names), "independence(a, b)")


# -- level and power -------------------------------------------------------------------------------------

MARGINS = {
    "even": ([0.5, 0.5], [0.4, 0.6]),
    "sparse": ([0.9, 0.07, 0.03], [0.85, 0.05, 0.05, 0.05]),
    "one cell": ([0.98, 0.01, 0.01], [0.98, 0.01, 0.01]),
}


@pytest.mark.usefixtures("few_draws")
@pytest.mark.statistical
@pytest.mark.parametrize("margins", MARGINS)
@pytest.mark.parametrize(("n", "epsilon"), [(20, 0.5), (1000, 0.01), (1000, 1.0)])
def test_independence_is_rejected_as_rarely_as_stated(margins: str, n: int, epsilon: float) -> None:
    rows, columns = MARGINS[margins]
    tables = multinomial(np.outer(rows, columns), n)
    assert alarms(pair(len(rows), len(columns)), tables, epsilon=epsilon) <= LEVEL + ERROR


@pytest.mark.usefixtures("few_draws")
@pytest.mark.statistical
@pytest.mark.parametrize("budget", [{"rho": 0.001}, {"mu": 0.2}], ids=str)
def test_other_noise_has_its_own_distribution(budget: dict) -> None:
    tables = multinomial(np.outer([0.7, 0.2, 0.1], [0.6, 0.4]), 300)
    assert alarms(pair(3, 2), tables, **budget) <= LEVEL + ERROR


@pytest.mark.usefixtures("few_draws")
@pytest.mark.statistical
def test_dependence_is_found() -> None:
    dependent = np.array([[0.3, 0.2], [0.2, 0.3]])
    assert alarms(pair(2, 2), multinomial(dependent, 1000, 200), 200, epsilon=1.0) > 0.98
    assert alarms(pair(2, 2), multinomial(dependent, 1000, 200), 200, epsilon=0.01) < 0.2


@pytest.mark.usefixtures("few_draws")
@pytest.mark.statistical
@pytest.mark.parametrize("kind", [EqualMeans, EqualMeansByBounds])
@pytest.mark.parametrize(("n", "epsilon"), [(20, 1.0), (1000, 0.01), (1000, 1.0)])
@pytest.mark.parametrize("rare", [0.05, 1.0])
def test_equal_means_are_rejected_as_rarely_as_stated(
    kind: type[EqualMeans], n: int, epsilon: float, rare: float
) -> None:
    """Values of which most are 0, and normal ones; three rows in ten are in the second group."""
    rng = np.random.default_rng(5)
    query = builders.equality(gd.Domain.of(g=["s", "t"], v=gd.bounded(0, 1, step=0.001)), "v", "g", kind)
    counts = np.stack([n - (second := rng.binomial(n, 0.3, RUNS)), second], axis=1)
    tables = np.array([of_groups(rng, row, rare, kind) for row in counts])
    assert alarms(query, tables, epsilon=epsilon) <= LEVEL + ERROR


@pytest.mark.statistical
@pytest.mark.usefixtures("few_draws")
def test_different_means_are_found() -> None:
    """Means differ by half a deviation; a step of the sums is a 2,000th of the range."""
    rng = np.random.default_rng(5)
    query = builders.equality(gd.Domain.of(g=["s", "t"], v=gd.bounded(0, 1, step=0.001)), "v", "g", EqualMeans)
    tables = np.array([of_groups(rng, np.array([700, 300]), 1.0, EqualMeans) for _ in range(100)])
    tables[:, 1] += 0.1 * 300
    assert alarms(query, tables, 100, epsilon=1.0) > 0.95


def of_groups(rng: np.random.Generator, counts: np.ndarray, rare: float, kind: type[EqualMeans]) -> np.ndarray:
    """Return the sums, squares and counts of two groups."""
    values = [np.clip(rng.normal(0.4, 0.2, n), 0, 1) * (rng.random(n) < rare) - 0.5 for n in counts]
    sums, squares = [value.sum() for value in values], [(2 * value**2 - 0.25).sum() for value in values]
    return np.array([*sums, *squares, *counts] if kind is EqualMeans else [*sums, *counts], dtype=float)


# -- definitions -----------------------------------------------------------------------------------------


def test_without_noise_the_distance_is_pearsons() -> None:
    table = np.array([[12.0, 5, 7], [30, 6, 21]])
    pearson = scipy.stats.chi2_contingency(table, correction=False)
    statistic = Independence(1, 2, 3)
    actual = statistic.distance(statistic.cases(table.ravel()), np.zeros((1, 2, 3)))
    assert actual == pytest.approx([pearson.statistic])
    rows = frame(2000, 0.05)
    large = released("independence(a, b)", rows, epsilon=1000.0)
    expected = scipy.stats.chi2_contingency(pd.crosstab(rows["a"], rows["b"]), correction=False).pvalue
    assert large.values[0] == pytest.approx(expected, abs=0.02)


def test_without_noise_means_are_tested_as_by_welch() -> None:
    rows = frame(3000, 0.015)
    large = released("test(mean(v) by b)", rows, epsilon=1000.0)
    groups = [rows["v"][rows["b"] == value] for value in ("p", "q")]
    expected = scipy.stats.ttest_ind(*groups, equal_var=False).pvalue
    assert 0.01 < expected < 0.5
    assert large.values[0] == pytest.approx(expected, abs=0.02)


def test_equal_shares_are_two_by_two_tables() -> None:
    """Parts, groups and cells: the test of a part, a group and a cell is about that cell and the others."""
    counts = np.arange(24.0).reshape(3, 2, 4) + 1
    statistic = EqualShares.of_parts(4, 4, 3)
    cases = statistic.cases(counts.ravel()).reshape(2, 2, 4, 2, 2)
    for part, group, cell in np.ndindex(2, 2, 4):
        own, first = counts[part + 1, group], counts[0, group]
        expected = [[own[cell], own.sum() - own[cell]], [first[cell], first.sum() - first[cell]]]
        assert cases[part, group, cell].tolist() == expected


def test_groups_are_tested_apart() -> None:
    counts = np.arange(12.0).reshape(2, 3, 2)
    tables = Independence(2, 2, 3).cases(counts.ravel())
    assert tables.tolist() == [counts[:, :, 0].tolist(), counts[:, :, 1].tolist()]
    answer = released("independence(a, b) by r", frame(500), epsilon=1.0)
    assert list(answer.to_frame()["r"]) == ["s", "t"]


def test_the_released_numbers_alone_decide() -> None:
    rows = frame(1000, 0.1)
    answer = released("independence(a, b)", rows, epsilon=1.0)
    query = gd.query(DOMAIN, "independence(a, b)")
    again = concluded(query, gd.plan(query, UNIT, epsilon=1.0).mechanism, answer.numbers)
    assert again[0].to_dict() == answer.estimates[0].to_dict()
    other = concluded(query, gd.plan(query, UNIT, epsilon=1.0).mechanism, answer.numbers + 1)
    assert other[0].to_dict() != answer.estimates[0].to_dict()


def test_each_term_is_tested_by_its_own_numbers() -> None:
    rows = frame(2000, 0.2)
    answer = released("r; independence(a, r); median(v); independence(a, b)", rows, epsilon=10.0)
    values = {query: value for (query, _), value in zip(answer.labels, answer.values, strict=True)}
    first, last = values["independence(a, r)"], values["independence(a, b)"]
    assert first > 0.01 > last


# -- where they appear -----------------------------------------------------------------------------------


def test_p_values_are_derived_at_no_cost() -> None:
    counts = released("a*b", frame(2000, 0.2), epsilon=1.0)
    for text, n in (("independence(a, b)", 1), ("test(share(b) by a)", 4), ("test(share(a) by b)", 3)):
        derived = gd.derive(counts, text)
        assert derived.values.shape == (n,)
        assert (derived.values.min() < 0.01, derived.guarantee) == (True, counts.guarantee)
    assert gd.derive(counts, "independence(a, b)").values[0] < 0.01


def test_means_are_tested_with_the_squares_if_there_are_any() -> None:
    rows = frame(3000, 0.02)
    kinds = {}
    for text in ("sd(v) by a*b", "mean(v) by a*b"):
        derived = gd.derive(released(text, rows, epsilon=1.0), "test(mean(v) by b)", domain=DOMAIN)
        kinds[derived.estimates[0].kind] = derived.values[0]
    assert kinds["equal means"] < kinds["equal means by bounds"] <= 1


def test_json_reports_and_files_have_them(tmp_path) -> None:
    answer = released("independence(a, b); a; test(mean(v) by a)", frame(500, 0.2), epsilon=1.0)
    for text in (answer.to_json(), answer.to_store()):
        again = gd.Release.from_json(text)
        assert (again.values == answer.values).all()
        assert np.array_equal(again.interval(), answer.interval())
    low, high = answer.interval()
    assert ((low <= answer.values) & (answer.values <= high)).all()
    answer.save_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "P-value of independence(a, b)" in page
    assert "P-value of the same mean of v in it and in u" in page
    answer.save_press_html(tmp_path / "press.html")


def test_a_plan_says_what_its_widths_are() -> None:
    planned = gd.plan(gd.query(DOMAIN, "independence(a, b); a"), UNIT, epsilon=1.0)
    assert "Tests: the widths are those of the released numbers." in str(planned)
    assert "Tests" not in str(gd.plan(gd.query(DOMAIN, "a*b"), UNIT, epsilon=1.0))


def test_forged_p_values_are_refused() -> None:
    facts = json.loads(released("independence(a, b)", frame(50), epsilon=1.0).to_json())
    for reached in ([10_000], [1, 2], [-1], ["x"], "1", [None]):
        facts["estimates"][0]["reached"] = reached
        with pytest.raises(InvalidRequest, match="not a release"):
            gd.Release.from_json(json.dumps(facts))
    assert read_statistic({"kind": "independence", "answers": 1, "rows": 2, "columns": 2}, "").answers(np.ones(4)) == 1


def test_what_cannot_be_tested_is_refused() -> None:
    one = gd.Domain.of(a=["u", "w"], c=["z"], v=gd.bounded(0, 1), big=gd.integers(1, 3000))
    for text, words in {
        "independence(a, c)": "two attributes with at least two cells",
        "independence(a)": "two attributes",
        "independence(a, a)": "twice",
        "independence(a, big)": "6,000 released numbers",
        "test(share(a) by c)": "only one cell to compare",
        "test(share(c) by a)": "always 1",
        "test(mean(v) by c)": "only one cell to compare",
    }.items():
        with pytest.raises(InvalidRequest, match=words):
            gd.query(one, text)
    with pytest.raises(UnknownName):
        gd.query(one, "test(mean(a) by a)")
    with pytest.raises((InvalidRequest, UnknownName)):
        gd.query(one, "test(median(v) by a)")


def test_a_walk_concludes_nothing() -> None:
    statistic = Independence(1, 2, 2)
    assert statistic.concluded(np.ones(4), lambda *_: None) is statistic
    assert statistic.answers(np.ones(4)).tolist() == [1.0]
    low, high = statistic.intervals(np.ones(4), np.ones(4))
    assert (low.tolist(), high.tolist()) == ([0.0], [1.0])


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("numbers", [np.zeros(6), np.full(6, -50.0), np.full(6, 1e15), np.eye(6)[0] * -1e6])
def test_any_released_numbers_have_a_p_value(numbers: np.ndarray) -> None:
    for text in ("independence(a, b)", "test(share(b) by a)", "test(share(a) by b)"):
        query = gd.query(DOMAIN, text)
        mechanism = gd.plan(query, UNIT, epsilon=1.0).mechanism
        values = concluded(query, mechanism, numbers.astype(np.int64))[0].answers(numbers)
        assert ((values > 0) & (values <= 1)).all()
    query = gd.query(DOMAIN, "test(mean(v) by b)")
    mechanism = gd.plan(query, UNIT, epsilon=1.0).mechanism
    values = concluded(query, mechanism, numbers.astype(np.int64))[0].answers(numbers)
    assert ((values > 0) & (values <= 1)).all()
