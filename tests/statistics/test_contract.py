"""The contract of a statistic, held for every kind in the registry.

Its answers are what its definition says; its intervals hold the truth wherever the released numbers are within their
widths, and by draws of noise as often as they say; a plan, JSON, a report and the text of a query know it.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.queries.linear import are_counts
from gaugedp.queries.text import WORDS
from gaugedp.report.terms import read_terms
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import by_pivot, curves_of, read_statistic, split
from tests.statistics import registry
from tests.statistics.registry import CASES, CURVED, DOMAIN, OF_OTHERS, TERMS, case_of, made, statistic_of, truth

UNIT = gd.PrivacyUnit()
DRAWS = 400
ERROR = 5 * math.sqrt(0.95 * 0.05 / DRAWS)  # five standard errors of a share of 95 %: a false alarm in 10^6


def test_every_statistic_has_a_row_and_every_row_a_statistic() -> None:
    assert set(KINDS) == CASES.keys() | OF_OTHERS.keys()
    assert all(statistic_of(term).kind == kind for kind, case in CASES.items() for term in case.terms)
    assert {kind.word for kind in KINDS.values() if kind.word} <= set(WORDS)


@pytest.mark.parametrize("term", TERMS)
def test_without_noise_answers_are_what_the_definition_says(term: str) -> None:
    rng = np.random.default_rng(1)
    for n_rows in [0, 1, 2, *rng.integers(3, 40, 12)]:
        rows = made(rng, int(n_rows))
        expected, actual = truth(term, rows), registry.answered(term, registry.released(term, rows))
        known = ~np.isnan(expected)
        assert actual[known] == pytest.approx(expected[known], abs=case_of(term).exact)


@pytest.mark.parametrize("term", TERMS)
def test_intervals_hold_the_truth_where_all_numbers_are_within_their_widths(term: str) -> None:
    rng, statistic = np.random.default_rng(2), statistic_of(term)
    for n_rows in [0, *rng.integers(1, 60, 40)]:
        rows = made(rng, int(n_rows))
        widths, expected = rng.uniform(0, 12, statistic.n_released), truth(term, rows)
        noisy = registry.released(term, rows) + widths * rng.choice([-1, -0.5, 0, 1], len(widths))
        for low, high in (statistic.intervals(noisy, widths), statistic.simultaneous_intervals(noisy, widths)):
            slack = 2e-3 * (high - low).clip(0, 10) + 1e-9  # deviations: between two of 33 means
            held = (low - slack <= expected) & (expected <= high + slack)
            assert (held | np.isnan(expected) | _without_rows(term, rows)).all()
            assert ((low <= statistic.answers(noisy) + 1e-9) & (statistic.answers(noisy) - 1e-9 <= high)).all()
            assert math.isinf(statistic.span) or (high - low).max() <= statistic.span * (1 + 1e-9)


def _without_rows(term: str, rows: list) -> np.ndarray | bool:
    """Return where a statistic is called what it is by definition alone, as there are no rows."""
    if not case_of(term).column or "sum" in term:
        return False
    return registry.released(term, rows).reshape(len(statistic_of(term).moments), -1)[-1] == 0


@pytest.mark.statistical
@pytest.mark.parametrize("term", CURVED)
@pytest.mark.parametrize("guarantee", [{"epsilon": 0.5}, {"rho": 0.05}], ids=str)
def test_intervals_of_draws_hold_as_often_as_they_say_and_narrower_ones_do_not(term: str, guarantee: dict) -> None:
    """Of 400 draws at least 95 %, within what they tell; with half the widths fewer."""
    query, statistic = gd.query(DOMAIN, term), statistic_of(term)
    plan = gd.plan(query, UNIT, **guarantee)
    (curves,) = curves_of(query.estimates, plan.curves(0.95))
    rows = made(np.random.default_rng(3), 800)
    exact, expected = registry.released(term, rows), truth(term, rows)
    noise = [row * query.steps.sizes for row in plan.mechanism.sample_noise(DRAWS, research_rng(7)).astype(float)]
    shares = []
    for factor in (1.0, 0.5):
        ends = [statistic.intervals(exact + one, np.zeros(len(exact)), factor * curves) for one in noise]
        held = [(low - 1e-9 <= expected) & (expected <= high + 1e-9) for low, high in ends]
        shares.append(np.mean(held, axis=0).min())
    assert shares[0] >= 0.95 - ERROR
    assert shares[1] < 0.95 - ERROR
    wide = plan._widths(plan.mechanism, simultaneous=True)
    ends = [statistic.simultaneous_intervals(exact + one, wide) for one in noise]
    assert np.mean([((low <= expected + 1e-9) & (expected - 1e-9 <= high)).all() for low, high in ends]) >= 0.95 - ERROR


@pytest.mark.parametrize("term", CURVED)
def test_a_plan_states_the_longest_interval_of_its_cases(term: str) -> None:
    """Longer curves and longer widths make it longer, and more rows shorter."""
    query, statistic = gd.query(DOMAIN, term), statistic_of(term)
    plan = gd.plan(query, UNIT, epsilon=1)
    (row,), (curves,) = plan.terms(), curves_of(query.estimates, plan.curves(0.95))
    widths = plan._widths(plan.mechanism, simultaneous=True)
    assert row["of_1000_rows"][1] == statistic.half_length(widths, 1000)
    assert row["of_1000_rows"][0] == statistic.half_length(widths, 1000, curves)
    for known in (None, curves):
        sizes = ((1, 4000), (1, 1000), (2, 1000))  # factors of widths, and rows
        halves = [statistic.half_length(f * widths, n, None if known is None else f * known) for f, n in sizes]
        assert halves[0] <= halves[1] <= halves[2]
    assert plan.remarks()[0].startswith(f"{statistic.wording.plural.capitalize()}: for a group of 1,000 rows")


@pytest.mark.parametrize("term", TERMS)
def test_json_gives_a_statistic_back_and_nonsense_is_refused(term: str) -> None:
    statistic = statistic_of(term)
    facts = json.loads(json.dumps(statistic.to_dict()))
    assert read_statistic(facts, "count") == statistic
    assert facts["kind"] == statistic.kind
    for spoilt in ({"kind": "mode"}, {"more": 1}, {"answers": "many"}):
        with pytest.raises((ValueError, LookupError, ArithmeticError)):
            read_statistic({**facts, **spoilt}, "count")


OLD = [
    ("s", {"answers": 2, "ratio": None}, "sum", KINDS["sum"](2)),
    ("m", {"answers": 2, "ratio": [3.0, 5.0]}, "mean", KINDS["mean"](2, 3.0, 5.0)),
    ("d", {"answers": 2, "ratio": None, "deviation": 5.0}, "standard deviation", KINDS["standard deviation"](2, 5.0)),
    ("p", {"answers": 6, "ratio": None, "parts": 3}, "share", KINDS["share"](6, 3)),
    ("c", {"answers": 4, "ratio": None, "parts": 3, "comparison": "change"}, "change", KINDS["change"](4, 3)),
    ("q", {"answers": 2, "ratio": None, "ends": 0.9, "alone": True}, "quantile", KINDS["quantile"](2, 0.9)),
    ("o", {"answers": 2, "ratio": None, "ends": 0.95}, "count", KINDS["quantile"](2, 0.95, alone=False)),
    ("g", {"answers": 2, "ratio": None, "ends": 0.9, "no_end": 8.0}, "gini", KINDS["gini"](2, 0.9, False, 8.0)),
]


@pytest.mark.parametrize(("name", "facts", "measure", "expected"), OLD, ids=[row[0] for row in OLD])
def test_what_version_0_2_wrote_is_read(name, facts, measure, expected) -> None:  # noqa: ARG001
    assert read_statistic(facts, measure) == expected


@pytest.mark.parametrize(
    "facts",
    [
        {"answers": 6, "ratio": None, "parts": 4},
        {"answers": 6, "ratio": None, "parts": -3},
        {"answers": 6, "ratio": [0, 1], "parts": 3},
        {"answers": 6, "ratio": None, "parts": 3, "ends": 0.95},
        {"answers": 4, "ratio": None, "parts": 1, "comparison": "ratio"},
        {"answers": 4, "ratio": None, "parts": 3, "comparison": "quotient"},
        *({"answers": 2, "ratio": None, "deviation": spoilt} for spoilt in (-1.0, math.inf, math.nan)),
    ],
    ids=str,
)
def test_nonsense_of_version_0_2_is_refused(facts) -> None:
    """When it is read, or when its numbers are."""

    def read() -> None:
        statistic = read_statistic(facts, "count")
        statistic.answers(np.ones(statistic.n_released))

    with pytest.raises((ValueError, LookupError, ArithmeticError)):
        read()


@pytest.mark.parametrize("term", TERMS)
def test_a_release_is_stored_read_back_and_reported(term: str) -> None:
    rows = made(np.random.default_rng(4), 300)
    table, query, ledger = registry.table_of(rows), gd.query(DOMAIN, term), gd.Ledger.in_memory(gd.PureDP(9))
    first, stored = (gd.release(query, table, ledger=ledger, epsilon=9, key="k") for _ in range(2))
    again = gd.Release.from_json(first.to_json())
    assert again.to_json() == first.to_json() == stored.to_json()
    assert again.estimates == query.estimates
    for at_once in (False, True):
        ends = [release.interval(0.9, at_once) for release in (first, again, stored)]
        assert all(np.array_equal(ends[0], other) for other in ends[1:])
    (shown,) = read_terms(first)
    assert shown.estimate == pytest.approx(statistic_of(term).wording.scale * first.values)
    assert "{" not in shown.measure
    assert query.outlines[0].measure == statistic_of(term).kind
    assert first.remarks(query) is not None


@pytest.mark.parametrize("term", TERMS)
def test_the_text_of_a_term_asks_for_it_again(term: str) -> None:
    query = gd.query(DOMAIN, term)
    assert (query.text, gd.query(DOMAIN, query.text).digest()) == (term, query.digest())


@pytest.mark.parametrize("term", [term for term in TERMS if not case_of(term).column and "(" in term])
def test_what_is_computed_from_counts_is_charged_as_counts_are(term: str) -> None:
    query = gd.query(DOMAIN, term)
    counts = gd.query(DOMAIN, "a*b" if " by b" in term else "a")
    assert query.pieces == counts.pieces
    assert query.digest() != counts.digest()
    assert are_counts(query).all()
    plans = [gd.plan(one, UNIT, epsilon=1) for one in (query, counts)]
    assert [plan.mechanism.guarantee for plan in plans] == [plans[0].mechanism.guarantee] * 2
    assert plans[0].error == plans[1].error


@pytest.mark.parametrize("term", TERMS)
def test_it_is_derived_from_a_finer_release(term: str) -> None:
    """The numbers of a finer release are added up, and the statistic computed from them."""
    column = case_of(term).column
    finer = f"{term.split(' by ', maxsplit=1)[0]} by a*b" if column else "a*b"
    rows = made(np.random.default_rng(5), 60)
    ledger = gd.Ledger.in_memory(gd.PureDP(1000))
    release = gd.release(
        gd.query(DOMAIN, finer), registry.table_of(rows), ledger=ledger, epsilon=900, rng=research_rng(1)
    )
    derived = gd.derive(release, term, domain=DOMAIN)
    assert derived.estimates == gd.query(DOMAIN, term).estimates
    expected = truth(term, rows)
    assert derived.values == pytest.approx(expected, abs=max(case_of(term).exact, 0.01 * bool(column)))


def test_curves_go_to_the_terms_of_their_pivot() -> None:
    statistics = gd.query(DOMAIN, "share(a); a; mean(v) by b; share(b) by a").estimates
    of_means, of_shares = np.arange(2.0)[:, None], np.arange(10.0, 19.0)[:, None]
    parts = curves_of(statistics, {"quotients": of_means, "shares": of_shares})
    assert [None if part is None else part.ravel().tolist() for part in parts] == [
        [10, 11, 12], None, [0, 1], [13, 14, 15, 16, 17, 18],
    ]  # fmt: skip
    assert curves_of(statistics, {}) == [None] * 4
    places = {pivot: [start for start, _ in terms] for pivot, terms in by_pivot(statistics).items()}
    assert places == {"shares": [0, 10], "quotients": [6]}
    assert [len(part) for part in split(statistics, np.zeros(16))] == [3, 3, 4, 6]


def test_an_end_at_the_number_that_stands_for_none_is_infinite() -> None:
    statistic = KINDS["quantile"](3, 0.95, alone=False, no_end=8.0)
    numbers = np.array([3.0, 4.0, 5.0, 1.0, 2.0, 3.0, 7.0, 8.0, 9.0])
    low, high = statistic.intervals(numbers, np.zeros(9))
    assert (low.tolist(), high.tolist()) == ([1, 2, 3], [7, np.inf, np.inf])
    both = replace(statistic, alone=True)
    of_both = np.concatenate([numbers, numbers[3:] + 1])
    assert both.simultaneous_intervals(of_both, np.zeros(15))[0].tolist() == low.tolist()
    assert both.intervals(of_both, np.zeros(15))[0].tolist() == (low + 1).tolist()
