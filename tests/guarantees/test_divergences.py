"""Rényi divergences against their definitions, and the theorems every one of them obeys."""

import decimal
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example
from hypothesis import strategies as st
from mpmath import mpf

from gaugedp._internal.validate import decimal as exact
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import divergences
from gaugedp.guarantees.divergences import bernoulli, finite, laplace, normal
from tests.guarantees.signed import assert_upper
from tests.steady import given

INF = math.inf
ORDERS = [1, 1 + 1e-12, 1 + 1e-9, 1 + 1e-6, 1.001, 1.01, 1.1, 1.5, 2, 3, 5.5, 8, 32, 64, 1e3, 1e6, INF]
TIGHT = 2.0**-51  # two steps of a float
SLACK = 1 + 1e-14  # for inequalities between rounded numbers

Law = list[Fraction]


# -- the definitions, with as many digits as are asked for


def precisely(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute from the decimals that the arguments print as, and round what is a short decimal to it."""

    def computed(*numbers: Any, dps: int = 120) -> mpf:
        with mpmath.workdps(dps + 40):
            actual = function(*[_mpf(number) for number in numbers])
        with mpmath.workdps(dps):
            return +actual

    return computed


def _mpf(number: Any) -> Any:
    if isinstance(number, Sequence):
        return [_mpf(each) for each in number]
    return mpf(INF) if number == INF else mpf(exact(number).numerator) / exact(number).denominator


@precisely
def true_finite(order: mpf, p: list[mpf], q: list[mpf]) -> mpf:
    pairs = [(x, y) for x, y in zip(p, q, strict=True) if x > 0]
    if p == q or any(y == 0 for _, y in pairs):
        return mpf(0 if p == q else INF)
    if order == INF:
        return max(mpmath.log(x / y) for x, y in pairs)
    if order == 1:
        return mpmath.fsum(x * mpmath.log(x / y) for x, y in pairs)
    return mpmath.log(mpmath.fsum(x**order * y ** (1 - order) for x, y in pairs)) / (order - 1)


def true_bernoulli(order: float, p: float, q: float, dps: int = 700) -> mpf:
    return true_finite(order, [exact(p), 1 - exact(p)], [exact(q), 1 - exact(q)], dps=dps)


@precisely
def true_normal(order: mpf, mean_p: mpf, std_p: mpf, mean_q: mpf, std_q: mpf) -> mpf:
    gap, log_ratio = mean_p - mean_q, mpmath.log(std_q / std_p)
    if gap == 0 and std_p == std_q:
        return mpf(0)
    if order == 1:
        return log_ratio + (gap**2 + std_p**2 - std_q**2) / (2 * std_q**2)
    if order == INF:
        return log_ratio + gap**2 / (2 * (std_q**2 - std_p**2)) if std_p < std_q else mpf(INF)
    mixed = (1 - order) * std_p**2 + order * std_q**2
    if mixed <= 0:
        return mpf(INF)
    return order * gap**2 / (2 * mixed) + log_ratio + mpmath.log(std_q**2 / mixed) / (2 * (order - 1))


@precisely
def true_laplace(order: mpf, mean_p: mpf, mean_q: mpf, scale: mpf) -> mpf:
    t = abs(mean_p - mean_q) / scale
    if order == INF or t == 0:
        return t
    if order == 1:
        return t + mpmath.exp(-t) - 1
    near, far = order * mpmath.exp((order - 1) * t), (order - 1) * mpmath.exp(-order * t)
    return mpmath.log((near + far) / (2 * order - 1)) / (order - 1)


def integrated(order: float, log_p: Callable[[mpf], mpf], log_q: Callable[[mpf], mpf], cuts: list[float]) -> mpf:
    """Return the divergence by quadrature of the definition, on the pieces between the cuts."""
    if order == 1:
        return mpmath.quad(lambda x: mpmath.exp(log_p(x)) * (log_p(x) - log_q(x)), cuts)
    power = mpmath.quad(lambda x: mpmath.exp(order * log_p(x) + (1 - order) * log_q(x)), cuts)
    return mpmath.log(power) / (order - 1)


@pytest.mark.many
@pytest.mark.parametrize("order", [1, 1.5, 2, 5, 20])
@pytest.mark.parametrize(("one", "two"), [((0, 1), (1, 1)), ((0, 1), (1, 2)), ((0.5, 1), (0, 0.99))])
def test_the_closed_form_of_normals_is_the_integral(order: float, one: tuple, two: tuple) -> None:
    def log_density(mean: float, std: float) -> Callable[[mpf], mpf]:
        return lambda x: -(((x - mean) / std) ** 2) / 2 - mpmath.log(std * mpmath.sqrt(2 * mpmath.pi))

    tilt = [order / one[1] ** 2, (1 - order) / two[1] ** 2]  # the integrand is a bell around this middle
    middle, width = (tilt[0] * one[0] + tilt[1] * two[0]) / sum(tilt), sum(tilt) ** -0.5
    cuts = [middle + i * width for i in range(-12, 13, 3)]
    actual = integrated(order, log_density(*one), log_density(*two), cuts)
    assert abs(actual - true_normal(order, *one, *two)) < 1e-12


@pytest.mark.parametrize("order", [1, 1.5, 2, 5, 20])
@pytest.mark.parametrize("scale", [0.5, 1, 3])
def test_the_closed_form_of_laplace_is_the_integral(order: float, scale: float) -> None:
    def log_density(mean: float) -> Callable[[mpf], mpf]:
        return lambda x: -abs(x - mean) / scale - mpmath.log(2 * scale)

    cuts = [i * scale for i in range(-40, 0, 5)] + [0, 0.5, 1] + [1 + i * scale for i in range(5, 45, 5)]
    actual = integrated(order, log_density(0), log_density(1), cuts)
    assert abs(actual - true_laplace(order, 0, 1, scale)) < 1e-12


# -- the library against the definitions


@pytest.mark.parametrize("order", ORDERS)
def test_bernoulli(order: float) -> None:
    chances = [0, 1e-300, 1e-12, 0.1, 0.3, 0.5, 0.500000001, 0.9, 1 - 1e-12, 1]
    for p in chances:
        for q in chances:
            assert_upper(bernoulli(order, p, q), true_bernoulli(order, p, q), TIGHT)


@pytest.mark.parametrize("order", ORDERS)
def test_normal(order: float) -> None:
    for mean in [0, 1e-9, 0.1, 1, 30]:
        for std_p, std_q in [(1, 1), (0.1, 0.1), (1, 1.2), (1.2, 1), (1, 1 + 1e-9), (1 + 1e-9, 1), (1, 1e4)]:
            truth = true_normal(order, mean, std_p, 0, std_q)
            assert_upper(normal(order, mean, std_p, 0, std_q), truth, TIGHT)


@pytest.mark.parametrize("order", ORDERS)
def test_laplace(order: float) -> None:
    for mean, scale in [(0, 1), (1, 1), (1e-9, 1), (0.1, 0.3), (1, 100), (20, 1), (-5, 0.01), (1, 1e6)]:
        assert_upper(laplace(order, mean, 0, scale), true_laplace(order, mean, 0, scale), TIGHT)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([1], [1.0]),
        ([0.1] * 10, [0.05, 0.15] * 5),
        ([1 / 3] * 3, [Fraction(1, 3)] * 3),
        ([0.5, 0, 0.5], (0.25, 0.5, 0.25)),
        ([0.2, 0.3, 0.5], [0.2, 0.3 + 1e-9, 0.5]),
        ([1e-300, 1e-12, 1], [1e-12, 1e-300, 1]),
        (np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.2, 0.7])),
    ],
)
def test_finite(order: float, p: list[float], q: list[float]) -> None:
    first, second = ([exact(x) / sum(map(exact, law)) for x in law] for law in (p, q))
    assert_upper(finite(order, p, q), true_finite(order, first, second), TIGHT)


@example(2.0, 0.5, 0.500000001)
@given(st.one_of(st.floats(1, 3), st.floats(1, 1e6)), st.floats(0, 1), st.floats(0, 1))
def test_bernoulli_is_never_below_the_truth(order: float, p: float, q: float) -> None:
    assert_upper(bernoulli(order, p, q), true_bernoulli(order, p, q, dps=1500), TIGHT, 2 * math.ulp(0.0))


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 1 + 2.0**-52, 2, 1e6, 1e300, INF])
def test_the_smallest_and_the_largest_numbers(order: float) -> None:
    """No number underflows or overflows on the way; what no float can hold is rounded up."""
    step = math.ulp(0.0)
    for p, q in [(step, 2 * step), (2 * step, step), (1, step), (step, 0.5)]:
        assert_upper(bernoulli(order, p, q), true_bernoulli(order, p, q, dps=1500), TIGHT, 2 * step)
    for facts in [(1, step, 0, 1e308), (1e308, 1e307, 0, 1e307), (1, 1e300, 0, 1e300), (0, 1, 0, 1e308)]:
        assert_upper(normal(order, *facts), min(true_normal(order, *facts, dps=3000), INF), TIGHT, 2 * step)
    for facts in [(1, 0, 1e308), (1e308, 0, 1e10), (step, 0, 1), (1e-200, 0, 1e-200)]:
        assert_upper(laplace(order, *facts), true_laplace(order, *facts, dps=1500), TIGHT, 2 * step)
    assert normal(order, 1e308, step, -1e308, step) == laplace(order, 1e308, -1e308, step) == INF


def test_values_that_are_floats_come_out_exact() -> None:
    assert [normal(a, 1, 1, 0, 1) for a in (1, 2, 3.0, 1e6)] == [0.5, 1, 1.5, 5e5]
    assert laplace(INF, 0, 3, 2) == 1.5


def test_a_float_is_the_decimal_that_prints_as_it() -> None:
    assert bernoulli(3, 0.1, 0.3) == bernoulli(Fraction(3), Fraction(1, 10), Fraction(3, 10))
    assert normal(2, 0.3, 1, 0.2, 1) == normal(2, 0.1, 1, 0, 1) == 0.01
    assert laplace(1.1, 0.1 + 0.2, 0.3, 1) > laplace(1.1, 0.3, 0.3, 1) == 0


def test_the_decimal_context_of_the_caller_neither_matters_nor_changes() -> None:
    calm = [finite(a, [0.3, 0.7], [0.6, 0.4]) for a in (1, 2, INF)]
    strict = decimal.Context(prec=2, rounding=decimal.ROUND_DOWN, traps=[decimal.Inexact, decimal.FloatOperation])
    with decimal.localcontext(strict) as context:
        assert [finite(a, [0.3, 0.7], [0.6, 0.4]) for a in (1, 2, INF)] == calm
        assert (context.prec, context.rounding) == (2, decimal.ROUND_DOWN)
        assert not any(context.flags.values())


# -- where the source errs


def test_the_supremum_is_over_what_p_can_produce() -> None:
    """Over the support of Q, as printed, the outcome that only P has would go unseen: 0 instead of infinity."""
    p, q = [0.5, 0.5, 0], [0.5, 0, 0.5]
    assert max(math.log(x / y) for x, y in zip(p, q, strict=True) if x and y) == 0
    assert finite(INF, p, q) == INF
    assert_upper(finite(INF, p, [0.25, 0.5, 0.25]), math.log(2), TIGHT)


@pytest.mark.parametrize("order", ORDERS)
def test_an_outcome_of_p_alone_is_never_hidden(order: float) -> None:
    assert finite(order, [0.5, 0.5, 0], [0.5, 0, 0.5]) == INF
    assert bernoulli(order, 1e-300, 0) == bernoulli(order, 1 - 1e-16, 1) == INF


@pytest.mark.parametrize("scale", [10, 100, 1e4])
def test_the_divergence_of_laplace_falls_as_the_square_of_the_scale(scale: float) -> None:
    """Printed is 0.5/scale."""
    actual = laplace(1, 0, 1, scale)
    assert actual == pytest.approx(1 / scale + math.exp(-1 / scale) - 1, rel=1e-7)
    assert 0.5 / scale**2 * (1 - 1 / scale) < actual < 0.5 / scale**2


@pytest.mark.parametrize(("std_p", "std_q", "edge"), [(1.2, 1, Fraction(36, 11)), (2, 1, Fraction(4, 3))])
def test_a_wider_normal_has_no_divergence_from_an_order_on(std_p: float, std_q: float, edge: Fraction) -> None:
    assert normal(1, 0, std_p, 1, std_q) < normal(edge - Fraction(1, 10**30), 0, std_p, 1, std_q) < INF
    assert normal(edge, 0, std_p, 1, std_q) == normal(edge + 1, 0, std_p, 0, std_q) == INF
    assert normal(INF, 0, std_p, 0, std_q) == normal(INF, 1, std_q, 0, std_q) == INF
    assert normal(INF, 0, std_q, 1, std_p) < INF


# -- theorems

ANY_ORDER = st.one_of(st.sampled_from([1, 2, INF]), st.floats(1, 3), st.floats(1, 1e6))
REAL_ORDER = st.one_of(st.floats(1.001, 3), st.floats(1.1, 1e4)).map(exact)


def laws(count: int, least: int = 0) -> st.SearchStrategy[list[Law]]:
    """Make up laws on the same outcomes; with `least` 1 every outcome is possible under each."""

    def of_size(size: int) -> st.SearchStrategy[list[Law]]:
        parts = st.lists(st.integers(least, 40), min_size=size, max_size=size).filter(any)
        law = parts.map(lambda each: [Fraction(part, sum(each)) for part in each])
        return st.lists(law, min_size=count, max_size=count)

    return st.integers(1, 5).flatmap(of_size)


@given(laws(2), ANY_ORDER)
def test_zero_means_equal(pair: list[Law], order: float) -> None:
    p, q = pair
    assert (finite(order, p, q) == 0) == (p == q)
    assert finite(order, p, q) >= 0 == finite(order, p, p)


@given(laws(2), ANY_ORDER, ANY_ORDER)
def test_monotone_in_the_order(pair: list[Law], first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert finite(low, *pair) <= finite(high, *pair) * SLACK


@given(laws(2), st.lists(laws(1), min_size=5, max_size=5), ANY_ORDER)
def test_processing_loses(pair: list[Law], rows: list[list[Law]], order: float) -> None:
    """Each outcome is replaced by a draw from a law of its own, on up to five new outcomes."""

    def processed(law: Law) -> Law:
        new = [Fraction(0)] * 5
        for chance, (row,) in zip(law, rows, strict=False):
            new = [old + chance * each for old, each in zip(new, row + [0] * (5 - len(row)), strict=True)]
        return new

    assert finite(order, processed(pair[0]), processed(pair[1])) <= finite(order, *pair) * SLACK


@given(laws(3, least=1), REAL_ORDER, st.floats(1.01, 50).map(exact))
def test_weak_triangle(three: list[Law], a: Fraction, s: Fraction) -> None:
    """Hölder with 1/s + 1/t = 1, its limits s → ∞ and s → 1, and s = 2 − 2/a at the order a/2."""
    p, r, q = three

    def holds(order: Fraction, factor: Fraction, first: float, second: float) -> bool:
        bound = float(factor) * finite(first, p, r) + finite(second, r, q)
        return finite(order, p, q) <= bound * SLACK

    t = s / (s - 1)
    assert holds(a, (a - 1 / s) / (a - 1), s * a, t * (a - 1 / s))
    assert holds(a, (a - Fraction(1, 2)) / (a - 1), 2 * a, 2 * a - 1)
    assert holds(a, a / (a - 1), INF, a)
    assert holds(a, Fraction(1), a, INF)
    group = a + 1  # above 2
    assert holds(group / 2, group / (group - 1), group - 1, group)


@given(laws(2), REAL_ORDER, st.sets(st.integers(0, 4)))
def test_probabilities_are_preserved(pair: list[Law], order: Fraction, event: set[int]) -> None:
    p, q = (float(sum(each for i, each in enumerate(law) if i in event)) for law in pair)
    if q > 0 and (loss := finite(order, *pair)) < INF:
        assert p <= math.exp((loss + math.log(q)) * float((order - 1) / order)) * (1 + 1e-12)
    if q > 0 and (loss := finite(INF, *pair)) < INF:
        assert p <= math.exp(loss) * q * (1 + 1e-12)


@given(laws(2), laws(2), ANY_ORDER)
def test_independent_pairs_add_up(one: list[Law], two: list[Law], order: float) -> None:
    p, q = ([x * y for x in first for y in second] for first, second in zip(one, two, strict=True))
    total = finite(order, *one) + finite(order, *two)
    assert finite(order, p, q) == pytest.approx(total, rel=1e-14)


@given(laws(2, least=1))
def test_the_limits_are_met_from_above_and_from_below(pair: list[Law]) -> None:
    """D_1 ≤ D_a ≤ D_1 + O(a − 1), and D_∞ + log(P of the worst outcome)/(a − 1) ≤ D_a ≤ D_∞."""
    near, far = finite(1 + 1e-12, *pair), finite(1e6, *pair)
    assert finite(1, *pair) <= near * SLACK <= finite(1, *pair) * SLACK**2 + 1e-10
    worst = math.log(max(zip(*pair, strict=True), key=lambda each: each[0] / each[1])[0])
    assert finite(INF, *pair) + worst / (1e6 - 1) - 1e-14 <= far <= finite(INF, *pair) * SLACK


@given(laws(2, least=1), REAL_ORDER, REAL_ORDER)
def test_the_logarithm_of_the_moment_is_convex(pair: list[Law], a: Fraction, b: Fraction) -> None:
    def moment(order: Fraction) -> float:
        return float(order - 1) * finite(order, *pair)

    assert moment((a + b) / 2) <= (moment(a) + moment(b)) / 2 * SLACK


@given(laws(2, least=1), ANY_ORDER)
def test_pure_privacy_bounds_every_order(pair: list[Law], order: float) -> None:
    epsilon = max(finite(INF, *pair), finite(INF, *pair[::-1]))
    assert finite(order, *pair) <= min(epsilon, order * epsilon**2 / 2 if epsilon else 0) * SLACK


# -- what is refused

NO_NUMBERS = [math.nan, INF, -INF, True, "1", None, 1j, [1], np.array([1.0, 2.0])]
NO_LAWS = [[], 1, None, {0.25, 0.75}, {0.25: 0, 0.75: 1}, "01", [[0.5, 0.5]], [[1], [0]]]
NO_LAWS += [[0.5, 0.500001], [0.5, 0.49], [0, 0], [1e308, 1e308], *([each, 1] for each in [*NO_NUMBERS, -1e-12])]
SLOTS = [
    *[(bernoulli, facts, [*NO_NUMBERS, -1e-9, 1.000001, 2]) for facts in (["p", 0.5], [0.5, "q"])],
    *[(normal, facts, NO_NUMBERS) for facts in (["mean_p", 1, 0, 1], [0, 1, "mean_q", 1])],
    *[(normal, facts, [*NO_NUMBERS, 0, -1]) for facts in ([0, "std_p", 0, 1], [0, 1, 0, "std_q"])],
    *[(laplace, facts, NO_NUMBERS) for facts in (["mean_p", 0, 1], [0, "mean_q", 1])],
    (laplace, [0, 0, "scale"], [*NO_NUMBERS, 0, -1.0]),
    *[(finite, facts, [*NO_LAWS, [1]]) for facts in (["p", [1, 0]], [[1, 0], "q"])],
]


@pytest.mark.parametrize("order", [0.5, 1 - 1e-16, -2, 0, -INF, math.nan, True, np.True_, "2", None, 2j, [2]])
@pytest.mark.parametrize("call", [(bernoulli, 0, 1), (normal, 0, 1, 0, 1), (laplace, 0, 0, 1), (finite, [1], [1])])
def test_bad_orders(call: tuple[Any, ...], order: Any) -> None:
    with pytest.raises(InvalidRequest, match="`order` is"):
        call[0](order, *call[1:])


@pytest.mark.parametrize(("function", "facts", "bad"), SLOTS)
def test_bad_laws(function: Callable[..., float], facts: list[Any], bad: list[Any]) -> None:
    """The message has the name that stands in the place of the bad value."""
    name = next(each for each in facts if isinstance(each, str))
    for order in [1, 2.5, INF]:
        for value in bad:
            with pytest.raises(InvalidRequest, match=rf"\b{name}\b"):
                function(order, *[value if each is name else each for each in facts])


def test_sums_within_a_billionth_are_made_1() -> None:
    actual = finite(2, [0.5, 0.5 + 9e-10], [0.5, 0.5 - 8e-10])
    p, q = exact(0.5) / exact(1 + 9e-10), exact(0.5) / exact(1 - 8e-10)
    assert actual == bernoulli(2, p, q) == bernoulli(2, 1 - p, 1 - q)


# -- by way of a third distribution, and through kernels -----------------------------------------------


def _three(seed: int, n: int = 4) -> list[list[float]]:
    weights = np.random.default_rng(seed).dirichlet(np.ones(n), 3)
    return [list(row / row.sum()) for row in weights]


@pytest.mark.parametrize("order", [1.2, 2, 5.5])
@pytest.mark.parametrize("seed", range(3))
def test_the_weak_triangle_inequality_holds_and_has_the_special_cases(order: float, seed: int) -> None:
    """Proposition 2.3.5 and corollary 2.3.1 of the Rényi thesis: p = 2, p → ∞ and p → 1."""
    p, q, r = _three(seed)
    first, second = partial(divergences.finite, p=p, q=r), partial(divergences.finite, p=r, q=q)
    direct, best = divergences.finite(order, p, q), divergences.weak_triangle(order, first, second)
    halves = (order - 0.5) / (order - 1) * first(2 * order) + second(2 * order - 1)
    assert divergences.weak_triangle(order, first, second, 2) == pytest.approx(halves, rel=1e-12)
    ends = [order / (order - 1) * first(math.inf) + second(order), first(order) + second(math.inf)]
    for bound in (halves, *ends, divergences.weak_triangle(order, first, second, 1.1)):
        assert bound >= direct
    assert direct <= best <= min(halves, *ends) * (1 + 1e-9)


def test_the_weak_triangle_inequality_is_tight_on_a_line_of_normals() -> None:
    """N(s + t, 1), N(t, 1), N(0, 1): the best exponent loses nothing where both steps fit it."""
    to = partial(divergences.normal, std_p=1, mean_q=0, std_q=1)
    for a, s, t in ((2, 1, 1), (3, 0.5, 2), (1.5, 2, 0.1)):
        bound = divergences.weak_triangle(a, partial(to, mean_p=s), partial(to, mean_p=t))
        assert a * (s + t) ** 2 / 2 <= bound <= 1.01 * a * (s + t) ** 2 / 2


def test_the_weak_triangle_inequality_refuses_and_knows_infinity() -> None:
    never, little = partial(max, math.inf), partial(min, 0.1)  # of an order
    assert divergences.weak_triangle(2, never, little) == math.inf
    for order, p in ((1, 2), (2, 1), (math.inf, 2), (2, 0.5)):
        with pytest.raises(InvalidRequest):
            divergences.weak_triangle(order, never, never, p)


@pytest.mark.parametrize("order", [1, 2, 7.5, math.inf])
@pytest.mark.parametrize("seed", range(3))
def test_kernels_do_not_increase_divergences(order: float, seed: int) -> None:
    """Proposition 2.3.7. A permutation keeps the divergence, a constant kernel removes it."""
    p, q, _ = _three(seed)
    kernel = np.random.default_rng(seed).dirichlet(np.ones(3), 4)
    kernel = [list(row / row.sum()) for row in kernel]
    after = [divergences.push_forward(law, kernel) for law in (p, q)]
    assert [float(sum(law)) for law in after] == [1, 1]
    assert np.allclose(np.array(after[0], float), np.array(p) @ np.array(kernel))
    direct = divergences.finite(order, p, q)
    assert divergences.finite(order, *after) <= direct
    moved = [divergences.push_forward(law, np.eye(4)[[2, 0, 3, 1]].tolist()) for law in (p, q)]
    assert divergences.finite(order, *moved) == pytest.approx(direct, rel=1e-12)
    assert divergences.finite(order, *(divergences.push_forward(law, [[0.5, 0.5]] * 4) for law in (p, q))) == 0


@pytest.mark.parametrize("kernel", [[[1.0]], [[1.0], [0.5, 0.5]], [[0.5], [1.0]]])
def test_a_kernel_that_does_not_fit_is_refused(kernel) -> None:
    with pytest.raises(InvalidRequest):
        divergences.push_forward([0.5, 0.5], kernel)
