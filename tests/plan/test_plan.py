"""Plans: candidates, choice, costs, and from a wanted error to epsilon."""

import json
import math
from unittest.mock import Mock

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp._internal.numbers import readable
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.body_limits import body_noise
from gaugedp.mechanisms.choose import choose, left_out, registered
from gaugedp.mechanisms.pure_within import pure_within

DOMAIN = gd.Domain.of(
    a=gd.integers(1, 8), b=["x", "y"], c=gd.integers(1, 5, "other"), v=gd.bounded(0, 100), big=gd.integers(1, 2_000_000)
)
ROW = gd.PrivacyUnit()
REPLACED = gd.PrivacyUnit(neighbours="replace")
GUARANTEES = [{"epsilon": 0.5}, {"epsilon": 0.5, "delta": 1e-6}, {"rho": 0.125}, {"mu": 0.5}]


def planned(text: str, unit: gd.PrivacyUnit = ROW, **guarantee: float):
    return gd.plan(gd.query(DOMAIN, text), unit, **guarantee)


def names(found) -> list[str]:
    return [candidate.mechanism.name for candidate in found.candidates]


@pytest.mark.slow
def test_text_and_python_make_equal_plans() -> None:
    by_hand = gd.stack(gd.marginals(DOMAIN, "a", ("a", "b")), gd.bounded_sums(DOMAIN, "v", "b"))
    for guarantee in GUARANTEES:
        assert planned("a; a*b; sum(v) by b", **guarantee).to_dict() == gd.plan(by_hand, ROW, **guarantee).to_dict()


def test_a_plan_is_the_same_every_time() -> None:
    assert str(planned("prefix(a)", epsilon=1)) == str(planned("prefix(a)", epsilon=1))


def test_the_candidates_are_those_that_can_answer() -> None:
    assert names(planned("a; prefix(a)", epsilon=1)) == ["Laplace", "Identity", "Cube", "Matrix"]
    assert names(planned("a; prefix(a)", epsilon=1, delta=1e-6)) == [
        "Laplace",
        "Identity",
        "Cube",
        "Gaussian",
        "Matrix",
    ]
    assert names(planned("sum(v)", epsilon=1)) == ["Laplace", "Matrix", "Staircase"]
    assert names(planned("sum(v) by b; a", rho=1)) == ["Laplace", "Cube", "Gaussian", "Matrix"]
    assert names(planned("mean(v)", mu=1)) == ["Laplace", "Cube", "Gaussian", "Matrix"]


@pytest.mark.slow
def test_four_million_joint_cells_have_candidates() -> None:
    assert names(planned("big; b", epsilon=1)) == ["Laplace", "Matrix"]


def test_a_walk_is_a_candidate_only_where_a_delta_is_asked_for() -> None:
    """Two-way marginals of 2 x 2 x 5: more cells than their rank, and more facets than are listed."""
    domain = gd.Domain.of(a=["x", "y"], b=["x", "y"], c=gd.integers(1, 5))
    query = gd.marginals(domain, ("a", "b"), ("a", "c"), ("b", "c"))
    for guarantee, walks in (({"epsilon": 1}, False), ({"rho": 0.5}, False), ({"epsilon": 1, "delta": 1e-7}, True)):
        actual = gd.plan(query, ROW, **guarantee)
        assert ("mixing" in [candidate.mechanism.exactness for candidate in actual.candidates]) == walks


def test_no_walk_is_made_that_nobody_asked_for() -> None:
    """Facets that cannot be told apart are walked: that is not pure, and trial draws of it took half a minute."""
    body, error = gd.query(DOMAIN, "c; b").sensitivity(ROW), Mock(return_value=1.0)
    walked = Mock(return_value=Mock(guarantee=gd.ApproxDP(1, 1e-9), error=error))
    assert not list(body_noise(walked, body, gd.PureDP(1), None))
    assert not error.called
    assert len(list(body_noise(walked, body, gd.ApproxDP(1, 1e-9), None))) == error.call_count == 1


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
@pytest.mark.parametrize("text", ["a", "a; b; a*b", "prefix(a)", "ranges(c)", "sum(v); a", "mean(v) by b"])
@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=str)
def test_the_chosen_one_errs_least(text: str, unit, guarantee) -> None:
    actual = planned(text, unit, **guarantee)
    least = min(actual.candidates, key=lambda one: one.error)
    preferred = actual.mechanism.exactness == "exact" != least.mechanism.exactness  # one within 10 %
    assert actual.error <= least.error * (1.1 if preferred else 1.003)
    assert sum(row["chosen"] for row in actual.table()) == 1
    assert f"{actual.error:.4g}" in actual.reason
    for one in actual.candidates:
        assert one.mechanism.body == actual.query.sensitivity(unit)
        assert one.mechanism.is_valid_for(actual.query.sensitivity(unit))


def test_the_reason_says_why_another_one_errs_less() -> None:
    class Kind:
        def __init__(self, name: str, exactness: str) -> None:
            self.name, self.exactness = name, exactness

    exact, near, far = Kind("Identity", "exact"), Kind("Matrix", "idealized"), Kind("Cube", "idealized")
    assert choose([exact, near, far], [131.0, 129.9, 300.0]) == (
        exact,
        "exact, and within a tenth of the least error (Matrix, 129.9): 131 (against Matrix 129.9, Cube 300)",
    )
    simple = Kind("Laplace", "exact")
    assert choose([simple, exact], [131.1, 131.0]) == (
        simple,
        "simpler, and hardly above the least error (Identity, 131): 131.1 (against Identity 131)",
    )
    assert choose([exact, near], [150.0, 129.9])[1] == "least expected error, 129.9 (against Identity 150)"
    assert choose([exact, near], [129.9, 131.0])[1] == "least expected error, 129.9 (against Matrix 131)"


ALL = {kind.name for kind in registered()} - {"RankExponential", "RankTree", "RankVerified"}  # which are for quantiles


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
@pytest.mark.parametrize("text", ["a", "a; b; a*b", "prefix(a)", "sum(v)", "sum(v); a"])
def test_every_mechanism_is_a_candidate_or_left_out_for_a_reason(text: str, guarantee) -> None:
    actual = planned(text, **guarantee)
    dominated = {one.mechanism.name for one in actual.dominated}
    assert set(names(actual)) | set(actual.left_out) == ALL
    assert set(names(actual)) & set(actual.left_out) == dominated
    for name, reason in actual.left_out.items():
        assert name in actual.left_out_in_words()
        assert f"({reason})" in actual.left_out_in_words()


WITH_ELLIPSOIDS = "considered for polytopes, and for ellipsoids if there is a δ"


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        (gd.bodies.LpBall(3, 1.5), (WITH_ELLIPSOIDS, "considered for polytopes only")),
        (gd.bodies.Ellipsoid(np.diag([1e3, 1.0])), (WITH_ELLIPSOIDS, "considered for polytopes only")),
        (gd.bodies.LpBall(3000, 2), ("there are more than 2,000 answers", "considered for polytopes only")),
        (gd.bodies.LpBall(1, 2), ("identical to Laplace in one direction", "considered for polytopes only")),
    ],
)
def test_bodies_that_are_no_polytopes_have_a_reason_of_their_own(body, reasons: tuple[str, str]) -> None:
    missing = left_out(body, gd.PureDP(1.0), None, ALL - {"KNorm", "NIM", "Ellipsoid"})
    assert missing == dict(zip(("KNorm", "NIM", "Ellipsoid"), (*reasons, reasons[1]), strict=True))


def test_the_reasons_are_those_that_hold() -> None:
    assert planned("a", epsilon=1).left_out_in_words() in str(planned("a", epsilon=1))
    reasons = {
        "Identity": "identical to Laplace for this query",
        "KNorm": "identical to Identity or Laplace for this query",
        "NIM": "for bodies 100 times longer in one direction than in another",
        "Ellipsoid": "for bodies 100 times longer in one direction than in another",
        "Gaussian": "needs a δ, ρ or μ",
    }
    assert reasons.items() <= planned("a", epsilon=1).left_out.items()
    body = gd.query(DOMAIN, "big; b").sensitivity(ROW)
    assert left_out(body, gd.PureDP(1.0), None, ALL - {"Identity"}) == {
        "Identity": "the joint table has 4,000,000 cells"
    }
    assert planned("sum(v)", epsilon=1).left_out["Cube"] == "identical to Laplace for one answer"
    assert planned("sum(v)", epsilon=1).left_out["Identity"] == "for queries that only count rows"
    domain = gd.Domain.of(a=["x", "y"], b=["x", "y"], c=gd.integers(1, 5))
    marginals = gd.marginals(domain, ("a", "b"), ("a", "c"), ("b", "c"))
    assert gd.plan(marginals, ROW, epsilon=1).left_out["KNorm"] == "needs a random walk, and therefore a δ"
    assert "KNorm" not in gd.plan(marginals, ROW, epsilon=1, delta=1e-6).left_out
    assert gd.plan(gd.quantiles(DOMAIN, "v", 0.5), ROW, epsilon=1).left_out == {}


@pytest.mark.slow
def test_the_best_mechanism_depends_on_the_question() -> None:
    assert planned("prefix(a)", epsilon=1).mechanism.name == "Identity"
    assert planned("a", epsilon=1).mechanism.name == "Laplace"
    assert planned("a; b; c", epsilon=1).mechanism.name == "KNorm"
    many = gd.Domain.of(**{f"x{i}": gd.integers(1, 4) for i in range(60)})
    assert gd.plan(gd.marginals(many, *many.attributes), ROW, epsilon=1, delta=1e-6).mechanism.name == "Matrix"
    assert planned("a", mu=0.5).mechanism.name == "Gaussian"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guarantee", "kind"), list(zip(GUARANTEES, ["PureDP", "ApproxDP", "ZCDP", "GaussianDP"], strict=True))
)
def test_what_was_asked_is_kept_by_every_candidate(guarantee, kind: str) -> None:
    actual = planned("a; b; a*b", **guarantee)
    assert actual.requested.to_dict() == {"kind": kind, **guarantee}
    assert actual.epsilon == guarantee.get("epsilon", math.inf)
    for candidate in actual.candidates:
        for epsilon in np.linspace(0, 4, 41):
            if kind == "ApproxDP" and epsilon < guarantee["epsilon"]:
                continue  # it says nothing below its own epsilon
            requested = actual.requested.delta(float(epsilon))
            assert candidate.mechanism.guarantee.delta(float(epsilon)) <= requested * (1 + 1e-9) + 1e-16


@pytest.mark.slow
def test_a_plan_can_be_written_as_json() -> None:
    for guarantee in GUARANTEES:
        facts = json.loads(json.dumps(planned("a; mean(v) by b; sum(v)", **guarantee).to_dict(), allow_nan=False))
        assert facts["query"] == "a; mean(v) by b; sum(v)"
        assert facts["unit"] == {"column": None, "neighbours": "add_remove", "max_rows": 1}
        assert [one["query"] for one in facts["terms"]] == ["a", "mean(v) by b", "sum(v)"]
        assert [len(one["interval_95"]) for one in facts["terms"]] == [1, 2, 1]
        assert facts["mechanism"] in [row["mechanism"] for row in facts["candidates"]]


def test_widths_are_those_of_sums_squares_and_counts_whatever_the_number_of_groups() -> None:
    """A test of three groups has two answers and nine released numbers."""
    domain = gd.Domain.of(g=["a", "b", "c"], v=gd.bounded(0, 10))
    made = gd.plan(gd.query(domain, "test(mean(v) by g)"), ROW, mu=1.0)
    widths = made.mechanism.half_widths(0.95) * made.query.steps.sizes
    assert made.terms()[0]["interval_95"] == widths.reshape(3, 3).max(axis=1).tolist()


def test_intervals_are_in_the_units_of_the_answers() -> None:
    fine = gd.Domain.of(v=gd.bounded(0, 100, step=0.25))
    coarse = gd.Domain.of(v=gd.bounded(0, 100, step=1))
    wide, narrow = (gd.plan(gd.bounded_sums(d, "v"), ROW, epsilon=1).table()[0]["interval_95"] for d in (fine, coarse))
    assert wide == pytest.approx(narrow, rel=0.01)
    assert wide == pytest.approx(100 * math.log(20), rel=0.01)


def test_terms_and_text_tell_the_plan() -> None:
    actual = planned("a; mean(v)", epsilon=0.5)
    assert [(term["query"], term["answers"]) for term in actual.terms()] == [("a", 8), ("mean(v)", 1)]
    for term in actual.terms():
        assert all(
            together >= alone for alone, together in zip(term["interval_95"], term["simultaneous_95"], strict=True)
        )
    assert "requested PureDP(0.5)" in str(actual)
    assert f"* {actual.mechanism.name}" in str(actual)


@pytest.mark.parametrize("matrix", [[[0.3, -0.1], [1.7, 2.2]], [[1e-3, 1e-4]]])
def test_a_real_matrix_can_be_planned(matrix) -> None:
    query = gd.workload(matrix, gd.Domain.of(b=["x", "y"]))
    assert gd.plan(query, ROW, epsilon=1).error > 0


def test_a_matrix_with_a_row_of_zeros_can_be_planned() -> None:
    query = gd.workload([[1, 2], [0, 0]], gd.Domain.of(b=["x", "y"]))
    assert all(np.isfinite(row["simultaneous_95"]) for row in gd.plan(query, ROW, epsilon=1).table())


# -- from an error to epsilon ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "error", "delta"),
    [
        ("a", 10.0, None),
        ("a", 0.01, None),
        ("a; b", 1e5, None),
        ("sum(v)", 250.0, None),
        ("sum(v); a", 3.0, None),
        ("mean(v) by b", 1.0, 1e-6),
        ("a; sum(v) by a", 40.0, 1e-9),
    ],
)
def test_a_wanted_error_is_reached_and_no_epsilon_wasted(text: str, error: float, delta: float | None) -> None:
    actual = planned(text, error=error, **({} if delta is None else {"delta": delta}))
    assert actual.error <= error
    less = {"epsilon": 0.97 * actual.epsilon} | ({} if delta is None else {"delta": delta})
    assert planned(text, **less).error > error
    assert float(f"{actual.epsilon:.3g}") == actual.epsilon


def test_a_wanted_error_is_reached_by_noise_on_the_cells() -> None:
    actual = planned("prefix(a)", error=12.0)
    assert actual.mechanism.name == "Identity"
    assert actual.error <= 12 < planned("prefix(a)", epsilon=0.97 * actual.epsilon).error


def test_a_tiny_wanted_error_is_reached_quietly() -> None:
    assert planned("a", error=1e-300).error <= 1e-300


@pytest.mark.parametrize(
    ("requested", "words"),
    [
        ({}, "No guarantee is given"),
        ({"delta": 1e-6}, "`delta` is given without `epsilon`"),
        ({"epsilon": 1, "rho": 1}, "Two guarantees are given: `epsilon` and `rho`"),
        ({"mu": 1, "delta": 1e-6}, "`delta` cannot be combined with `mu`"),
        ({"error": 3, "epsilon": 1}, "You passed both `error` and a guarantee, but"),
        ({"error": 3, "mu": 1}, "You passed both `error` and a guarantee, but"),
        ({"error": 0}, "`error` is 0"),
        ({"error": -1}, "`error` is -1"),
        ({"error": math.nan}, "`error` is nan"),
        ({"error": 3, "delta": 1}, "`delta` is 1"),
        ({"epsilon": 0}, "`epsilon` is 0"),
        ({"epsilon": -1}, "`epsilon` is -1"),
        ({"epsilon": math.inf}, "`epsilon` is inf"),
        ({"epsilon": "1"}, "`epsilon` is '1'"),
        ({"epsilon": True}, "`epsilon` is True"),
        ({"epsilon": 1, "delta": -1}, "`delta` is -1"),
        ({"epsilon": 1, "delta": 1}, "`delta` is 1"),
        ({"rho": 0}, "`rho` is 0"),
        ({"mu": math.nan}, "`mu` is nan"),
    ],
)
def test_an_unclear_guarantee_is_refused(requested, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        planned("a", **requested)


def test_a_count_is_noisy_under_replace_too() -> None:
    assert planned("count", REPLACED, epsilon=1).error > 0  # a line of a text file may be broken
    assert planned("count", gd.PrivacyUnit("pid", "replace"), epsilon=1).error > 0  # a person may have no rows
    assert planned("count; b", REPLACED, epsilon=1).error > 0  # a row may be left out


# -- pure guarantees within others ---------------------------------------------------------------------

SIZES = st.floats(1e-9, 50)


@settings(max_examples=200, deadline=None)
@given(SIZES)
def test_the_pure_guarantee_within_zcdp_costs_no_more(rho: float) -> None:
    inside = pure_within(gd.ZCDP(rho))
    assert inside.cost("zcdp") <= gd.ZCDP(rho).cost("zcdp")
    assert inside.epsilon_value == pytest.approx(math.sqrt(2 * rho), rel=1e-9)
    for order in (1.001, 2, 30):
        assert inside.renyi(order) <= gd.ZCDP(rho).renyi(order)


def largest_pure(mu: float) -> mpmath.mpf:
    """The ε whose trade-off curve has its vertex 1/(1 + e^ε) on the Gaussian curve, at Φ(−μ/2)."""
    with mpmath.workdps(60):
        below = mpmath.ncdf(-mpmath.mpf(mu) / 2)
        return mpmath.log((1 - below) / below)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 20))
def test_the_pure_guarantee_within_a_gaussian_one_costs_no_more(mu: float) -> None:
    inside = pure_within(gd.GaussianDP(mu))
    assert largest_pure(mu) * (1 - 1e-9) <= inside.epsilon_value <= largest_pure(mu)
    assert inside.cost("gaussian") <= gd.GaussianDP(mu).cost("gaussian")


@pytest.mark.parametrize("mu", [1e-5, 1.1e-7, 3e-10])
def test_a_tiny_pure_guarantee_within_a_gaussian_one_costs_no_more(mu: float) -> None:
    assert pure_within(gd.GaussianDP(mu)).cost("gaussian") <= gd.GaussianDP(mu).cost("gaussian")
    assert largest_pure(mu) * (1 - 1e-9) <= pure_within(gd.GaussianDP(mu)).epsilon_value <= largest_pure(mu)


@pytest.mark.parametrize("mu", [30.0, 49.0, 50.0, 90.0, 1e3, 1e5])
def test_a_large_pure_guarantee_within_a_gaussian_one_costs_no_more(mu: float) -> None:
    assert pure_within(gd.GaussianDP(mu)).cost("gaussian") <= gd.GaussianDP(mu).cost("gaussian")


@settings(max_examples=300, deadline=None)
@given(st.floats(-9, 2.5))
def test_the_gaussian_cost_of_a_pure_guarantee_is_above_it_and_near(exponent: float) -> None:
    """The largest pure guarantee within the Gaussian one of that cost is the guarantee itself, to twelve digits."""
    epsilon = 10**exponent
    (square,) = gd.PureDP(epsilon).cost("gaussian")
    largest = largest_pure(math.sqrt(square))
    assert epsilon * (1 - 1e-15) <= largest <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("mu", [0.01, 0.5, 2.0, 6.0])
def test_the_pure_curve_lies_below_the_gaussian_one(mu: float) -> None:
    inside, requested = pure_within(gd.GaussianDP(mu)), gd.GaussianDP(mu)
    for epsilon in np.linspace(0, 1.2 * inside.epsilon_value, 50):
        assert inside.delta(float(epsilon)) <= requested.delta(float(epsilon)) * (1 + 1e-9) + 1e-15


def test_the_pure_guarantee_within_the_others() -> None:
    assert pure_within(gd.PureDP(0.7)) == gd.PureDP(0.7)
    assert pure_within(gd.ApproxDP(0.7, 1e-6)) == gd.PureDP(0.7)
    with pytest.raises(TypeError, match="not a single guarantee"):
        pure_within(gd.ZCDP(1) + gd.PureDP(1))


# -- how near to the best ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a", "a; b; a*b", "prefix(a)", "ranges(c)", "sum(v); a", "mean(v) by b", "count"])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0])
def test_no_pure_candidate_is_below_the_bound(text: str, epsilon: float) -> None:
    query = gd.count(DOMAIN) if text == "count" else gd.query(DOMAIN, text)
    actual = gd.plan(query, ROW, epsilon=epsilon)
    assert 0 <= actual.lower_bound <= min(candidate.error for candidate in actual.candidates)
    assert actual.lower_bound <= actual.real_lower_bound
    assert actual.ratio >= 1
    if epsilon < 0.2:
        assert actual.lower_bound > 0
    assert actual.certificate["bound"] >= actual.lower_bound, "an expected norm is at most a root mean square"
    assert f"the lower bound {readable(actual.certificate['bound'])}" in str(actual)
    assert actual.to_dict()["lower_bound"]["bound"] == actual.certificate["bound"]


@pytest.mark.slow
def test_where_no_bound_is_known_it_says_so() -> None:
    for actual in (planned("sd(v)", epsilon=0.1), planned("median(v)", rho=0.1)):
        assert actual.certified_ratio == math.inf
        assert "No lower bound is known" in str(actual)
        assert actual.to_dict()["lower_bound"] is None


@pytest.mark.parametrize("guarantee", [{"rho": 0.01}, {"mu": 0.1}], ids=str)
@pytest.mark.parametrize(("text", "room"), [("prefix(a)", 1e-3), ("a; b; a*b", 0.02), ("sum(v); a", 0.5)])
def test_normal_noise_is_compared_with_the_best_of_its_kind(text: str, room: float, guarantee) -> None:
    actual = planned(text, **guarantee)
    weights = actual.query.errors.reach if text == "sum(v); a" else np.ones(len(actual.query.steps))
    floor = next(candidate.mechanism for candidate in actual.candidates if candidate.mechanism.name == "Matrix").floor
    own = math.sqrt(float((actual.mechanism.variances / weights**2).sum()))
    assert floor * (1 - 1e-9) <= own <= floor * (1 + room)
    stated = actual.to_dict()["lower_bound"]
    assert (stated["kind"], stated["words"]) == ("factorisation", actual.bound_in_words())
    assert ("The best Gaussian noise with this guarantee has" in stated["words"]) == (stated["ratio"] > 1.05)
    assert stated["ratio"] == pytest.approx(own / floor, rel=1e-3), "normal noise is nearly the best there is"


@pytest.mark.slow
def test_rows_that_are_left_out_are_told() -> None:
    domain = gd.Domain.of(
        a=["0", "1"],
        b=gd.bins(0, 9, 3),
        c=gd.integers(0, 1, "other"),
        v=gd.bounded(0, 9),
        w=gd.bounded(0, 9, missing=1),
    )
    cells = "rows whose a or b is missing or out of domain; "
    words = "Left out: {}rows whose pid is missing; from terms about v, rows where it is missing."
    requested = gd.query(domain, "a*b; c; sum(v); mean(w) by c; median(v)")
    plan = gd.plan(requested, gd.PrivacyUnit("pid"), epsilon=1.0)
    first = f"a*b; c; sum(v); mean(w) by c: {words.format(cells)}"
    assert plan.remarks()[-2:] == [first, f"median(v): {words.format('')}"]
    assert f"\n{plan.remarks()[-1]}\n" in str(plan)
    assert gd.plan(gd.query(domain, "c; sum(w)"), gd.PrivacyUnit(), epsilon=1.0).remarks() == []


def test_the_unit_of_an_error_is_said() -> None:
    for text, words, one in (
        ("a; b", "rows", True),
        ("sum(v)", "the unit of the sums", True),
        ("sum(v); b", "rows: the error of a sum is divided by the largest contribution of a row", False),
        ("mean(v) by b", "rows: the error of a sum is divided by the largest contribution of a row", False),
        ("median(v)", "rows (distance in ranks)", True),
    ):
        actual = planned(text, epsilon=1)
        assert (actual.unit_of_error, actual.query.errors.has_one_unit) == (words, one)
        assert words in str(actual)


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", [{"epsilon": 0.5}, {"rho": 0.05}], ids=str)
def test_a_mean_of_a_thousand_rows_is_worth_what_a_release_says(guarantee) -> None:
    domain = gd.Domain.of(v=gd.bounded(0, 200_000))
    query = gd.query(domain, "mean(v)")
    actual = gd.plan(query, ROW, **guarantee)
    seen = {place: half_lengths(actual, place) for place in (2_000, 100_000, 190_000, 199_000)}
    most = np.max(list(seen.values()), axis=0)
    told = np.array(actual.terms()[0]["of_1000_rows"])
    assert ((0.85 * told <= most) & (most <= 1.05 * told)).all()
    assert (seen[100_000] < seen[190_000]).all()


def half_lengths(found, place: int) -> np.ndarray:
    """The middle of what five releases about a thousand rows at one value show, alone and all at once."""
    table = gd.Table.scan(pd.DataFrame({"v": [place] * 1000}), domain=found.query.domain)
    ledger = gd.Ledger.in_memory(gd.ZCDP(10))
    lengths = []
    for seed in range(5):
        answer = gd.release(found.query, table, ledger=ledger, planned=found, rng=research_rng(seed))
        ends = [answer.interval(0.95, simultaneous) for simultaneous in (False, True)]
        lengths.append([float(high[0] - low[0]) / 2 for low, high in ends])
    return np.median(lengths, axis=0)


@pytest.mark.parametrize(("text", "share"), [("median(v)", 0.5), ("quantiles(v, 0.1, 0.5)", 0.1)])
def test_quantiles_say_how_many_rows_they_take(text: str, share: float) -> None:
    actual = planned(text, epsilon=1)
    width = actual.terms()[0]["ordinary_95"]
    assert f"With about {math.ceil(width / share):,} rows or fewer the interval may" in str(actual)


def test_what_is_no_question_is_refused_with_the_way_out() -> None:
    body = gd.bodies.LpBall(3, 2, 1.0)
    for ask in (lambda: gd.plan(body, ROW, epsilon=1), lambda: gd.compare(body, ROW), lambda: gd.plan("a", ROW, mu=1)):
        with pytest.raises(InvalidRequest, match=r"gd\.query.*gd\.KNorm\.calibrate\(body, guarantee\)"):
            ask()


def test_k_norm_noise_is_near_the_bound_for_small_epsilon() -> None:
    """Random signs on 30 cells: within a fifth of the best for counts, and a tenth for data in real numbers."""
    matrix = np.random.default_rng(1).integers(0, 2, (3, 30)) * 2 - 1
    actual = gd.plan(gd.workload(matrix, gd.Domain.of(x=gd.integers(1, 30))), ROW, epsilon=0.02)
    assert actual.mechanism.name in {"KNorm", "Cube", "Identity"}
    assert actual.ratio < 1.2
    assert actual.error / actual.real_lower_bound < 1.1
