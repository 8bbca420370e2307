"""Figures computed from a release: the answers, how often their intervals hold, and what is refused."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.releases.deriving.derive import Source
from gaugedp.releases.deriving.summed import Summed, Sums
from gaugedp.statistics.comparison import MeanDifference, MeanRatio
from gaugedp.statistics.forms import FormPivot
from gaugedp.statistics.inequality import Gini, Lorenz

DOMAIN = gd.Domain.of(A=["x", "y", "z"], B=["p", "q"], C=gd.bounded(0, 100), D=gd.bins(0, 40, 10))
TIMES = 200
ERROR = 5 * math.sqrt(0.95 * 0.05 / TIMES)  # five standard errors of a share of 95 %: a false alarm in 10^6


@pytest.fixture(scope="module")
def table() -> gd.Table:
    rng = np.random.default_rng(3)
    columns: dict[str, list] = {"A": list("xyz"), "B": list("pq"), "C": [*range(101)], "D": [*range(40)]}
    frame = pd.DataFrame({name: rng.choice(values, 3000) for name, values in columns.items()})
    return gd.Table.scan(frame, domain=DOMAIN)


def released(table: gd.Table, text: str, **guarantee) -> gd.Release:
    budget = gd.ZCDP(5) if "rho" in guarantee else gd.PureDP(5)
    ledger = gd.Ledger.in_memory(budget)
    return gd.release(gd.query(DOMAIN, text), table, ledger=ledger, rng=gd.research_rng(4), **guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", [{"epsilon": 1}, {"rho": 0.1}], ids=str)
def test_answers_follow_from_released_counts(table, guarantee) -> None:
    answer = released(table, "A*B; A*B*D", **guarantee)
    derived = gd.derive(gd.Release.from_json(answer.to_json()), "share(A) by B; change(B); A")
    counts = answer.numbers[:6].reshape(3, 2).astype(float)
    of_a, of_b = counts.sum(axis=1), counts.sum(axis=0)
    assert derived.values[:6] == pytest.approx((counts / of_b).ravel())
    assert derived.values[6:] == pytest.approx([100 * (of_b[1] / of_b[0] - 1), *of_a])
    assert derived.guarantee == answer.guarantee
    assert derived.to_frame()["query"].unique().tolist() == ["share(A) by B", "change(B)", "A"]
    assert gd.Release.from_json(derived.to_json()).interval()[0].tolist() == derived.interval()[0].tolist()


def test_copies_have_the_intervals_of_the_release(table) -> None:
    answer = released(table, "A*B", epsilon=1)
    turned = gd.derive(answer, "B*A")
    for at_once in (False, True):
        mine, theirs = (np.array(one.interval(simultaneous=at_once)) for one in (turned, answer))
        assert mine.reshape(2, 2, 3).tolist() == theirs.reshape(2, 3, 2).transpose(0, 2, 1).tolist()


@pytest.mark.slow
def test_means_are_of_added_up_sums_and_counts(table) -> None:
    answer = released(table, "mean(C) by A*B; sd(C) by B", epsilon=2)
    derived = gd.derive(answer, "mean(C) by A; sd(C)", domain=DOMAIN)
    sums, counts = np.split(answer.numbers[:12].astype(float), 2)
    means = 50 + sums.reshape(3, 2).sum(1) / 2 / counts.reshape(3, 2).sum(1)
    assert derived.values[:3] == pytest.approx(means)
    low, high = derived.interval()
    assert (low <= derived.values).all()
    assert (derived.values <= high).all()


def test_a_publication_is_derived_from_by_its_plan(table) -> None:
    question = gd.query(DOMAIN, "median(C); A*B")
    plan = gd.plan(question, table.unit, epsilon=2)
    answer = gd.release(question, table, ledger=gd.Ledger.in_memory(gd.PureDP(5)), planned=plan)
    assert gd.derive(answer, "A", planned=plan).values[0] == answer.values[1] + answer.values[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "given", "says"),
    [
        ("A*D", {}, "does not follow"),
        ("median(C)", {"domain": DOMAIN}, "Quantiles cannot be derived"),
        ("gini(A)", {}, "not bounded ranges"),
        ("lorenz(D)", {"domain": DOMAIN}, "Write lorenz"),
        ("lorenz(D, 2)", {"domain": DOMAIN}, "not a share"),
        ("gini(D); A", {"domain": DOMAIN}, "mixed with other terms"),
        (
            "A",
            {"domain": gd.Domain.of(A=["x", "y"], B=["p", "q"], D=["0"])},
            "The release does not answer the query of",
        ),
    ],
)
def test_what_does_not_follow_is_refused(table, text, given, says) -> None:
    with pytest.raises(gd.InvalidRequest, match=says):
        gd.derive(released(table, "A*B; D", epsilon=1), text, **given)


def test_noise_of_another_law_is_refused(table) -> None:
    answer = released(table, "A*B", epsilon=1)
    levels = answer.facts["widths"]["single"]
    levels["0.95"] = [[count, width + 1] for count, width in levels["0.95"]]
    with pytest.raises(gd.InvalidRequest, match="The release does not contain enough facts to"):
        gd.derive(answer, "A")


@pytest.mark.statistical
@pytest.mark.parametrize(("text", "guarantee"), [("A*B*D", {"epsilon": 1}), ("A*B; B*D", {"rho": 0.05})], ids=str)
def test_widths_of_sums_hold_as_often_as_they_say_and_hardly_more(text, guarantee) -> None:
    plan = gd.plan(gd.query(DOMAIN, text), gd.PrivacyUnit(), **guarantee)
    ((_, part, noise),) = Source.made(plan.query, plan.mechanism, plan.unit).parts
    shape = DOMAIN.shape(part.pieces[0].attributes)
    sums = Summed(noise, (Sums(0, shape, (1,)),), gd.query(DOMAIN, "B").sensitivity(plan.unit))
    rows = np.abs(sums.sample_noise(20_000, research_rng(5)))
    for level in (0.8, 0.95, 0.99):
        error = 5 * math.sqrt(level * (1 - level) / 20_000)
        assert (rows <= sums.half_widths(level)).mean(0).min() >= level - error
        assert (rows <= 0.8 * sums.half_widths(level)).mean(0).max() < level - error
        assert (rows <= sums.half_widths(level, simultaneous=True)).all(axis=1).mean() >= level - error
    assert (rows <= sums.half_widths(0.99999)).mean() >= 0.9999, "where draws are too few, widths are added"


VALUES = np.array([5.0, 15, 25, 35])


def test_figures_are_those_of_the_rows_one_by_one() -> None:
    counts = np.array([3, 4, 2, 1])
    rows = np.repeat(VALUES, counts)
    apart = np.abs(rows[:, None] - rows).sum()
    assert Gini.quotients(VALUES)[0].value(counts.astype(float)) == pytest.approx(apart / (2 * len(rows) * rows.sum()))
    assert Lorenz.quotients(VALUES, [0.5])[0].value(counts.astype(float)) == pytest.approx(rows[:5].sum() / rows.sum())
    cells = np.array([-300.0, 10, 200, 40])
    assert MeanDifference.quotient(0, 100, 1).value(cells) == pytest.approx(-35)
    assert MeanRatio.quotient(150, 100, 1).value(cells) == pytest.approx(120 / 155)


FIGURES: dict[str, tuple] = {
    "gini": (Gini.quotients(VALUES)[0], np.array([3000.0, 2000, 900, 300]), 1.0, 0.97),
    "lowest half": (Lorenz.quotients(VALUES, [0.5])[0], np.array([300.0, 200, 90, 30]), 1.0, 0.97),
    "lowest share at a border": (Lorenz.quotients(VALUES, [0.6])[0], np.array([40.0, 20, 20, 20]), 1.0, 0.97),
    "difference": (
        MeanDifference.quotient(0, 50, 1),
        np.array([2000.0, 3000, -900, 2000]),
        np.array([50.0, 1, 50, 1]),
        0.97,
    ),
    "ratio": (MeanRatio.quotient(50, 50, 1), np.array([2000.0, 3000, -900, 2000]), np.array([50.0, 1, 50, 1]), 0.97),
    "ratio of few": (MeanRatio.quotient(50, 50, 1), np.array([20.0, 30, -90, 20]), np.array([50.0, 1, 50, 1]), 0.98),
}


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize("name", FIGURES)
def test_intervals_of_figures_hold_and_narrower_ones_do_not(name) -> None:
    figure, true, scales, most = FIGURES[name]
    rng = np.random.default_rng(7)
    draws, more = (scales * np.rint(rng.laplace(scale=2, size=(m, 4))) for m in (8000, TIMES))
    known, narrow = (FormPivot(figure, factor * draws) for factor in (1, 0.5))
    expected = figure.value(true)
    held = [
        [low - 1e-9 <= expected <= high + 1e-9 for low, high in (one.ends(true + e, 0.05) for e in more)]
        for one in (known, narrow)
    ]
    assert 0.95 - ERROR <= np.mean(held[0]) <= most + ERROR
    if most < 1:
        assert np.mean(held[1]) < 0.95 - ERROR, "noise half as wide would not do"


@pytest.mark.slow
def test_compared_means_stand_where_they_belong(table) -> None:
    answer = released(table, "mean(C) by B*A", epsilon=4)
    means = answer.values.reshape(2, 3)
    kinds = ("difference", "index", "change")
    lines = gd.derive(answer, "; ".join(f"{kind}(mean(C) by A*B)" for kind in kinds), domain=DOMAIN)
    of_a = means.T
    expected = [of_a[1:] - of_a[0], 100 * of_a[1:] / of_a[0], 100 * (of_a[1:] / of_a[:-1] - 1)]
    assert lines.values == pytest.approx(np.concatenate([one.ravel() for one in expected]), abs=1e-3)
    assert [cell for _, cell in lines.labels][:4] == [f"A={a}, B={b}" for a, b in itertools.product("yz", "pq")]
    assert (lines.interval(simultaneous=True)[0] <= lines.interval()[0]).all()


def test_an_interval_without_end_says_so(table) -> None:
    answer = released(table, "mean(C) by A*B", epsilon=0.002)
    high = gd.derive(answer, "ratio(mean(C) by A)", domain=DOMAIN).interval()[1]
    assert np.isinf(high).any()
