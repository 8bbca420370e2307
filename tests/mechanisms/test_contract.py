"""What every mechanism keeps on every body. Draws have fixed keys; bounds are four standard errors or more."""

import copy
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall, Polytope
from gaugedp.errors import InvalidRequest
from tests.cases import one_in
from tests.mechanisms.registry import CASES, COUNTING, DOMAIN, INDEPENDENT, OF_A_BODY, ROW, Case

WITH_A_LAW = [case for case in CASES if case not in OF_A_BODY]
LEVELS = (0.5, 0.95, 0.99)


@pytest.fixture(
    params=[*one_in(4, WITH_A_LAW), *(pytest.param(case, marks=pytest.mark.statistical) for case in OF_A_BODY)], ids=str
)
def case(request) -> Case:
    return request.param


def test_shapes_and_names(case: Case) -> None:
    d = case.body.ambient_dim
    assert case.noise.shape == (case.n_draws, d)
    assert case.mechanism.variances.shape == case.mechanism.half_widths(0.9).shape == (d,)
    assert case.mechanism.draw(3, gd.research_rng(0)).shape == (3, d)
    assert case.mechanism.exactness == case.exactness
    assert case.mechanism.name in repr(case.mechanism)


def test_the_noise_is_centred(case: Case) -> None:
    assert (np.abs(case.noise.mean(axis=0)) <= 4.5 * np.sqrt(case.mechanism.variances) / case.root).all()


def test_the_variances_are_those_of_the_noise(case: Case) -> None:
    """Those of noise with the shape of a body are estimates."""
    squares, variances = case.noise**2, case.mechanism.variances
    own = case.own if case in OF_A_BODY else 1e-3 * (case.own > 0)
    assert (np.abs(squares.mean(axis=0) - variances) <= 4.5 * squares.std(axis=0) / case.root + own * variances).all()


@pytest.mark.parametrize("case", one_in(4, INDEPENDENT), ids=str)
def test_the_coordinates_are_uncorrelated(case: Case) -> None:
    correlations = np.corrcoef(case.noise, rowvar=False).reshape(case.body.ambient_dim, -1)
    correlations = correlations - np.diag(np.diag(correlations))
    assert np.abs(correlations).max() <= 5 / case.root


def test_the_error_is_the_mean_norm_of_the_noise(case: Case) -> None:
    for norm, scale in product((1, 2), (None, case.weights) if case.weights is not None else (None,)):
        lengths = np.linalg.norm(case.noise if scale is None else case.noise / scale, norm, axis=1)
        slack = 4 * lengths.std() / case.root + max(case.own, 1e-3) * lengths.mean()
        assert case.mechanism.error(norm, scale) == pytest.approx(lengths.mean(), abs=slack)


@pytest.mark.parametrize("norm", [0.5, 3, np.inf])
def test_other_norms_are_refused(norm: float) -> None:
    for case in (CASES[0], CASES[-1]):
        with pytest.raises(InvalidRequest, match="norm"):
            case.mechanism.error(norm)


def error_of(case: Case, share: float) -> float:
    return 4.5 * (share * (1 - share)) ** 0.5 / case.root


def held(case: Case, width: np.ndarray) -> np.ndarray:
    return np.abs(case.noise) <= width * (1 + 1e-12)


def fewer(case: Case, width: np.ndarray) -> np.ndarray:
    """The width without its last lattice points, which must be needed."""
    points = 2 if case.own else 1  # those from draws are rounded up
    return width - points * float(case.mechanism.lattice_step)


def test_the_half_widths_hold_and_are_not_much_wider(case: Case) -> None:
    for level in LEVELS:
        width = case.mechanism.half_widths(level)
        assert (held(case, width).mean(axis=0) >= level - error_of(case, level)).all()
        assert (held(case, fewer(case, width)).mean(axis=0) <= level + case.own + error_of(case, level)).all()


def test_the_simultaneous_widths_hold_all_at_once(case: Case) -> None:
    for level in LEVELS:
        width = case.mechanism.half_widths(level, simultaneous=True)
        assert (width >= fewer(case, case.mechanism.half_widths(level))).all()
        assert held(case, width).all(axis=1).mean() >= level - error_of(case, level)
        assert held(case, fewer(case, width)).all(axis=1).mean() <= level + case.own + error_of(case, level)


def test_noise_lies_on_the_lattice(case: Case) -> None:
    steps = case.noise / float(case.mechanism.lattice_step)
    assert np.array_equal(steps, np.round(steps))
    assert case.mechanism.draw(1, gd.research_rng(1)).dtype == np.int64


def test_the_lattice_is_a_power_of_two_and_one_for_counts(case: Case) -> None:
    step = case.mechanism.lattice_step
    assert step.numerator.bit_count() == step.denominator.bit_count() == 1
    if isinstance(case.body, Polytope) and case.body.generators.whole_numbers:
        assert step == 1
    else:
        p, weights = (2, case.weights) if isinstance(case.mechanism, gd.Gaussian) else (1, case.weights)
        assert float(step) * 4096 * case.body.ambient_dim ** (1 / p) <= case.body.radius(p, weights)


@pytest.mark.parametrize("case", one_in(4, INDEPENDENT), ids=str)
def test_the_lattice_does_not_depend_on_the_guarantee(case: Case) -> None:
    kind = type(case.mechanism)
    others = [gd.PureDP(0.3), gd.PureDP(20.0)] if kind is gd.Laplace else [gd.GaussianDP(0.01), gd.ZCDP(5.0)]
    steps = {kind.calibrate(case.body, guarantee, case.weights).lattice_step for guarantee in others}
    assert steps == {case.mechanism.lattice_step}


def test_it_covers_its_own_body_and_smaller_ones_only(case: Case) -> None:
    mechanism = case.mechanism
    assert mechanism.is_valid_for(case.body)
    assert not mechanism.is_valid_for(LpBall(case.body.ambient_dim + 1, 1))
    if isinstance(case.body, Polytope):
        make = lambda factor: Polytope(  # noqa: E731
            case.body.generators, factor * case.body.factor, case.body.differences, case.body.with_zero
        )
        assert not mechanism.is_valid_for(make(2))
        assert not mechanism.is_valid_for(make(1.01))
        if mechanism.lattice_step == 1:
            assert case.make(make(2)).is_valid_for(case.body)


def test_prepared_noise_is_used_once(case: Case) -> None:
    prepared = case.mechanism.prepare(gd.research_rng(5))
    answer = np.arange(case.body.ambient_dim)
    with pytest.raises(InvalidRequest, match="Pass one number for each answer"):
        prepared(np.zeros(case.body.ambient_dim + 1, dtype=int))
    assert "unused" in repr(prepared)
    noisy = prepared(answer)
    assert np.array_equal(noisy - answer, case.mechanism.releasable(1, gd.research_rng(5))[0])
    with pytest.raises(InvalidRequest, match="This noise has already been used"):
        prepared(answer)
    assert "used" in repr(prepared)


def test_prepared_noise_is_neither_copied_nor_pickled() -> None:
    prepared = CASES[0].mechanism.prepare()
    for spread in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="may be used only once"):
            spread(prepared)


def test_system_noise_is_never_the_same() -> None:
    mechanism = gd.Gaussian.calibrate(LpBall(4, 2, 1e6), gd.GaussianDP(0.1))
    draws = [mechanism.prepare()(np.zeros(4, dtype=int)) for _ in range(3)] + list(mechanism.sample_noise(2))
    assert len({tuple(draw) for draw in draws}) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        lambda draws: draws[:, 0],
        lambda draws: draws[:, :1],
        lambda draws: np.hstack([draws, draws]),
        lambda draws: draws.astype(float),
        lambda draws: draws[:0],
        lambda draws: draws.tolist(),
    ],
)
def test_draws_of_another_shape_or_type_are_refused_before_anything_is_paid(wrong) -> None:
    """One number for all answers would leave their differences without noise."""
    pandas = pytest.importorskip("pandas")

    class Careless(gd.Laplace):
        def draw(self, size, rng):
            return wrong(super().draw(size, rng))

    table = gd.Table.scan(pandas.DataFrame({"a": [1, 2, 2]}), domain=gd.Domain.of(a=gd.integers(1, 2)), name="t")
    ledger = gd.Ledger.in_memory(gd.PureDP(3.0), table="t")
    query = gd.query(table.domain, "a")
    mechanism = Careless.calibrate(query.sensitivity(table.unit), gd.PureDP(1.0))
    for use in (
        lambda: gd.release(query, table, ledger=ledger, mechanism=mechanism),
        lambda: mechanism.sample_noise(3),
        lambda: mechanism.pool(2),
    ):
        with pytest.raises(InvalidRequest, match=r"of Laplace returned noise of shape .* Correct this method"):
            use()
    assert {entry.kind for entry in ledger.entries()} <= {"open", "bind"}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"exactness": "perfect"}, "`exactness` is 'perfect'"),
        ({"guarantee": "epsilon 1"}, "s `guarantee` is not a guarantee"),
        ({"half_widths": lambda _self, _level, _all=False: np.array([np.nan, 1.0])}, "`half_widths` must be 2 finite"),
        ({"half_widths": lambda _self, _level, _all=False: np.array([-1.0, 1.0])}, "`half_widths` must be 2 finite"),
        ({"half_widths": lambda _self, _level, _all=False: 3.0}, "`half_widths` must be 2 finite"),
        ({"variances": np.array([-1.0, 1.0])}, "`variances` must be 2 finite"),
    ],
)
def test_what_a_mechanism_says_of_itself_is_looked_at_before_anything_is_paid(facts, words) -> None:
    pandas = pytest.importorskip("pandas")
    table = gd.Table.scan(pandas.DataFrame({"a": [1, 2, 2]}), domain=gd.Domain.of(a=gd.integers(1, 2)), name="t")
    ledger = gd.Ledger.in_memory(gd.PureDP(3.0), table="t")
    query = gd.query(table.domain, "a")
    made = gd.Laplace.calibrate(query.sensitivity(table.unit), gd.PureDP(1.0))
    boastful = type("Boastful", (gd.Laplace,), {name: fact for name, fact in facts.items() if name != "guarantee"})
    mechanism = object.__new__(boastful)
    mechanism.__dict__.update(made.__dict__ | {"guarantee": facts.get("guarantee", made.guarantee)})
    with pytest.raises(InvalidRequest, match=words):
        gd.release(query, table, ledger=ledger, mechanism=mechanism)
    assert {entry.kind for entry in ledger.entries()} <= {"open", "bind"}


def test_noise_is_drawn_from_our_streams_alone() -> None:
    mechanism = gd.Laplace.calibrate(LpBall(2, 1), gd.PureDP(1.0))
    for use in (mechanism.sample_noise, mechanism.pool):
        with pytest.raises(InvalidRequest, match=r"`rng` is of type Generator.*pass gd\.research_rng\(seed\)"):
            use(1, np.random.default_rng(1))
        with pytest.raises(InvalidRequest, match="`size` is 0"):
            use(0)


# -- calibration -------------------------------------------------------------------------------------

HISTOGRAM = COUNTING["histogram"][0]
NOT_SHAPED = [gd.PureDP(0), gd.ZCDP(0.5), gd.GaussianDP(1), gd.ApproxDP(0, 1e-6), 1.0, None]
WRONG = {
    gd.Laplace: [gd.PureDP(0), gd.ApproxDP(1, 1e-6), gd.ApproxDP(1, 0), gd.ZCDP(0.5), gd.GaussianDP(1), 1.0, None],
    gd.Gaussian: [gd.PureDP(1), gd.ApproxDP(1, 0), gd.ZCDP(0), gd.GaussianDP(0), gd.ZCDP(0.5) + gd.PureDP(1), 1.0],
    gd.Identity: [gd.PureDP(0), gd.ApproxDP(1, 1e-6), gd.ZCDP(0.5), gd.PureDP(1) + gd.PureDP(1) + gd.ZCDP(1), "1"],
    gd.Matrix: [gd.PureDP(0), gd.ApproxDP(1, 0), gd.ZCDP(0), gd.GaussianDP(0), 1.0, None],
    gd.KNorm: NOT_SHAPED,
    gd.Cube: NOT_SHAPED,
    gd.Staircase: [gd.PureDP(0), gd.ApproxDP(1, 1e-6), gd.ZCDP(1), 1.0, None],
}


@pytest.mark.parametrize(
    ("kind", "guarantee"), [(kind, guarantee) for kind, wrong in WRONG.items() for guarantee in wrong], ids=str
)
def test_a_guarantee_it_cannot_keep_is_refused(kind, guarantee) -> None:
    with pytest.raises(InvalidRequest, match=r"noise does not support .* above 0"):
        kind.calibrate(HISTOGRAM, guarantee)


@pytest.mark.parametrize(
    "body",
    [
        LpBall(3, 1),
        Polytope.symmetric_hull(np.eye(2)),
        *(gd.query(DOMAIN, text).sensitivity(ROW) for text in ("sum(v)", "mean(w) by b", "a; sum(v)")),
    ],
    ids=str,
)
def test_noise_on_cells_needs_counts(body) -> None:
    with pytest.raises(InvalidRequest, match="requires a query that counts rows"):
        gd.Identity.calibrate(body, gd.PureDP(1))


def test_noise_on_cells_needs_few_cells() -> None:
    domain = gd.Domain.of(x=gd.integers(1, 2000), y=gd.integers(1, 2000))
    body = gd.marginals(domain, "x", "y").sensitivity(ROW)
    with pytest.raises(InvalidRequest, match="4,000,000 cells"):
        gd.Identity.calibrate(body, gd.PureDP(1))


NOTHING = replace(gd.count(DOMAIN).sensitivity(gd.PrivacyUnit(neighbours="replace")), with_zero=False)


@pytest.mark.parametrize("kind", [gd.Laplace, gd.Gaussian, gd.Identity])
def test_a_count_that_nobody_can_change_is_refused(kind) -> None:
    with pytest.raises(InvalidRequest, match="No unit can change these answers"):
        kind.calibrate(NOTHING, gd.ZCDP(1) if kind is gd.Gaussian else gd.PureDP(1))


# -- scales ------------------------------------------------------------------------------------------


def widths(mechanism) -> list[float]:
    return [float(np.sqrt(variance)) for variance in mechanism.variances]


SCALED = [
    (gd.Laplace, gd.PureDP(0.5), lambda k: gd.PureDP(0.5 * k)),
    (gd.Gaussian, gd.GaussianDP(0.25), lambda k: gd.GaussianDP(0.25 * k)),
    (gd.Gaussian, gd.ZCDP(0.125), lambda k: gd.ZCDP(0.125 * k**2)),
]


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("text", ["a", "prefix(a)", "b; sum(v) by b"])
def test_a_person_of_many_rows_costs_as_many_times_the_noise(text: str, times: int) -> None:
    query = gd.query(DOMAIN, text)
    weights = None if np.ptp(query.errors.reach) == 0 else query.errors.reach
    one, many = (query.sensitivity(gd.PrivacyUnit("pid", max_rows=rows)) for rows in (1, times))
    for kind, guarantee, weaker in SCALED:
        same = kind.calibrate(many, weaker(times), weights)
        assert widths(same) == pytest.approx(widths(kind.calibrate(one, guarantee, weights)), rel=1e-9)
    if "sum" not in text:
        assert gd.Identity.calibrate(many, gd.PureDP(times)).law == gd.Identity.calibrate(one, gd.PureDP(1)).law


@pytest.mark.parametrize("guarantee", [gd.PureDP(0.3), gd.GaussianDP(0.3), gd.ZCDP(0.3)], ids=str)
@pytest.mark.parametrize("times", [2.0**-40, 2.0**10, 3.7])
def test_a_larger_body_has_as_much_larger_noise(guarantee, times: float) -> None:
    kind = gd.Laplace if isinstance(guarantee, gd.PureDP) else gd.Gaussian
    small, large = (kind.calibrate(LpBall(3, 2, size), guarantee) for size in (0.9, 0.9 * times))
    assert large.error(2) == pytest.approx(times * small.error(2), rel=1e-3)
    assert np.allclose(large.variances, times**2 * small.variances, rtol=1e-3)
    if np.log2(times).is_integer():
        assert large.lattice_step == Fraction(times) * small.lattice_step
        assert large.runs == small.runs


def test_weights_are_relative_widths() -> None:
    body = LpBall(4, np.inf, 1.0)
    weights = np.array([1.0, 1.0, 2.0, 8.0])
    for kind, guarantee in (
        (gd.Laplace, gd.PureDP(0.5)),
        (gd.Gaussian, gd.GaussianDP(0.5)),
        (gd.Gaussian, gd.ZCDP(0.5)),
    ):
        first = np.array(widths(kind.calibrate(body, guarantee, weights)))
        assert first / first[0] == pytest.approx(weights, rel=1e-6)
        assert widths(kind.calibrate(body, guarantee, 10 * weights)) == pytest.approx(first, rel=1e-3)


@pytest.mark.parametrize("count", [2, 5])
def test_a_stack_costs_what_its_parts_cost(count: int) -> None:
    domain = gd.Domain.of(**{f"a{i}": gd.integers(1, 3) for i in range(count)})
    one = gd.marginals(domain, "a0").sensitivity(ROW)
    stack = gd.marginals(domain, *domain.attributes).sensitivity(ROW)
    parts = [
        (gd.Laplace, gd.PureDP(0.25), gd.PureDP(0.25 * count)),
        (gd.Gaussian, gd.ZCDP(0.125), gd.ZCDP(0.125 * count)),
        (gd.Gaussian, gd.GaussianDP(0.5), gd.GaussianDP(0.5 * count**0.5)),
    ]
    for kind, part, whole in parts:
        single, together = kind.calibrate(one, part), kind.calibrate(stack, whole)
        assert widths(together) == pytest.approx(widths(single)[:1] * (3 * count), rel=1e-9)
        assert (count * single.guarantee).epsilon(1e-6) == pytest.approx(together.guarantee.epsilon(1e-6), rel=1e-2)


def test_rounding_never_makes_the_noise_too_small() -> None:
    domain = gd.Domain.of(**{f"a{i}": gd.integers(1, 3) for i in range(7)})
    mechanism = gd.Gaussian.calibrate(gd.marginals(domain, *domain.attributes).sensitivity(ROW), gd.GaussianDP(0.1))
    law = mechanism.runs[0][1]
    assert (law.std / 10) ** 2 >= 7  # Δ = √7 is rounded up: Δ/μ in exact numbers
    assert gd.Laplace.calibrate(LpBall(1, 1, 0.1), gd.PureDP(0.1)).runs[0][1].scale >= 4096
