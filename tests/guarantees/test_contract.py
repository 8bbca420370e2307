"""What holds for every kind of guarantee: one table of examples, asked everything."""

import copy
import functools
import itertools
import math
import pickle

import pytest

import gaugedp.guarantees
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import (
    ZCDP,
    Bound,
    FiniteLoss,
    GaussianDP,
    Grouped,
    Guarantee,
    LossDistribution,
    PureDP,
    RenyiBudget,
    RenyiDP,
    SubsampledGaussian,
    TruncatedPoisson,
    compose,
    from_dict,
    from_json,
    to_json,
)
from gaugedp.guarantees.base import KINDS, METHODS
from tests.cases import one_in
from tests.guarantees.examples import ALL_EXTREME, ALL_ORDINARY, EXTREME, GROUPED_CURVE, ORDINARY, named

ORDERS = [1, 1.0001, 1.5, 2, 4, 17.5, 64, 1e4, math.inf]
EPSILONS = [0.0, 0.01, 0.3, 1.0, 4.0]
DELTAS = [0.0, 1e-12, 1e-6, 1e-3, 0.3, 1.0]
ANY_METHOD = (None, *METHODS)
EVERYTHING = ALL_ORDINARY + ALL_EXTREME
ONE_OF_EACH = [case for guarantees in ORDINARY.values() for case in one_in(len(guarantees), guarantees)]


def every(guarantees: list[Guarantee]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("guarantee", guarantees, ids=named)


@functools.cache
def delta(guarantee: Guarantee, epsilon: float, method: str | None) -> Bound:
    return guarantee.delta(epsilon, method)


@functools.cache
def epsilon(guarantee: Guarantee, allowed: float, method: str | None) -> Bound:
    return guarantee.epsilon(allowed, method)


def answers(guarantee: Guarantee, method: str | None) -> list[Bound]:
    """Return what is asked of every guarantee, δ first."""
    return [delta(guarantee, e, method) for e in EPSILONS] + [epsilon(guarantee, d, method) for d in DELTAS]


# -- the table ---------------------------------------------------------------------------------------------------------


def test_every_kind_has_ordinary_and_extreme_examples() -> None:
    assert set(ORDINARY) == set(EXTREME) == set(KINDS)
    for kind, guarantees in [*ORDINARY.items(), *EXTREME.items()]:
        assert guarantees
        assert all(guarantee.to_dict()["kind"] == kind for guarantee in guarantees)


def test_every_public_kind_is_in_the_registry() -> None:
    public = [getattr(gaugedp.guarantees, name) for name in gaugedp.guarantees.__all__]
    kinds = {
        each.kind for each in public if isinstance(each, type) and issubclass(each, Guarantee) and each is not Guarantee
    }
    assert kinds == set(KINDS)


# -- identity ----------------------------------------------------------------------------------------------------------


@every(EVERYTHING)
def test_json_pickle_and_copy_give_it_back(guarantee: Guarantee) -> None:
    copies = [from_json(to_json(guarantee)), from_dict(guarantee.to_dict()), pickle.loads(pickle.dumps(guarantee))]
    for other in [*copies, copy.copy(guarantee), copy.deepcopy(guarantee)]:
        assert other == guarantee
        assert hash(other) == hash(guarantee)
        assert repr(other) == repr(guarantee)
    assert to_json(copies[0]) == to_json(guarantee)


@every(EVERYTHING)
def test_a_multiple_a_sum_and_a_composition_are_one_guarantee(guarantee: Guarantee) -> None:
    three = 3 * guarantee
    for other in (guarantee * 3, guarantee + guarantee + guarantee, sum([guarantee] * 3), compose([(guarantee, 3)])):
        assert other == three
        assert hash(other) == hash(three)
    assert from_json(to_json(three)) == three


@pytest.mark.slow
@every(ALL_ORDINARY)
@pytest.mark.parametrize("method", ANY_METHOD)
def test_equal_compositions_answer_equally(guarantee: Guarantee, method: str | None) -> None:
    first, other = 2 * guarantee, guarantee + guarantee
    assert first.renyi(2.5) == other.renyi(2.5)
    assert first.delta(0.4, method) == other.delta(0.4, method)
    assert first.epsilon(1e-5, method) == other.epsilon(1e-5, method)
    assert first.delta(0.4, method).low == other.delta(0.4, method).low


SHORTENED = (RenyiDP, FiniteLoss, LossDistribution, Grouped, RenyiBudget)


@every([each for each in ALL_ORDINARY if not isinstance(each, SHORTENED)])
def test_repr_can_be_typed_in_again(guarantee: Guarantee) -> None:
    assert eval(repr(guarantee), vars(gaugedp.guarantees)) == guarantee


def test_repr_of_long_parameters_shows_their_numbers() -> None:
    assert repr(RenyiDP([2, 8], [0.1, 0.35])) == "RenyiDP({2: 0.1, 8: 0.35})"
    assert repr(FiniteLoss([0.25, 0.75], [0.5, 0.5])) == "FiniteLoss([0.25, 0.75], [0.5, 0.5])"
    assert repr(SubsampledGaussian(0.01, 1).group(3)) == "SubsampledGaussian(0.01, 1).group(3)"
    assert repr(RenyiBudget(1, 1e-6)) == "RenyiBudget(1, 1e-06)"


# -- answers -----------------------------------------------------------------------------------------------------------


@every([guarantee for guarantee in ALL_ORDINARY if guarantee is not GROUPED_CURVE])
def test_renyi_grows_with_the_order(guarantee: Guarantee) -> None:
    """A divergence does; the bound for a group of a curve at given orders need not."""
    curve = [guarantee.renyi(order) for order in ORDERS]
    assert all(value >= 0 for value in curve)
    assert all(first <= second * (1 + 1e-9) for first, second in itertools.pairwise(curve))


@pytest.mark.many
@every(ONE_OF_EACH)
@pytest.mark.parametrize("method", ANY_METHOD)
def test_bounds_are_in_range_and_fall(guarantee: Guarantee, method: str | None) -> None:
    actual = answers(guarantee, method)
    assert all(isinstance(bound, Bound) and bound.method in METHODS for bound in actual)
    assert all(0 <= bound.low <= bound for bound in actual)
    deltas, epsilons = actual[: len(EPSILONS)], actual[len(EPSILONS) :]
    assert all(bound <= 1 for bound in deltas)
    for column in (deltas, epsilons):
        assert all(second <= first * (1 + 1e-9) for first, second in itertools.pairwise(column))
    assert epsilons[-1] == 0


@pytest.mark.slow
@every(ALL_ORDINARY)
@pytest.mark.parametrize("method", ANY_METHOD)
def test_delta_at_the_epsilon_of_a_delta_is_within_it(guarantee: Guarantee, method: str | None) -> None:
    """Both are rounded up, so the value may be above by their rounding; its lower end may not.

    Basic composition shares δ evenly among unlike Gaussians one way and ε the other way: no inverses of each other.
    """
    inverse = method != "basic" or guarantee.cost("approx") is not None or len(tuple(guarantee.components())) == 1
    for allowed in DELTAS:
        loss = epsilon(guarantee, allowed, method)
        if loss < math.inf:
            back = guarantee.delta(float(loss), method)
            assert back.low <= allowed
            assert not inverse or back <= allowed * (1 + 1e-6) + (1e-12 if allowed == 0 else 0)


@every(ONE_OF_EACH)
def test_no_method_in_particular_is_the_least_of_all(guarantee: Guarantee) -> None:
    table = [answers(guarantee, method) for method in METHODS]
    for least, *each in zip(answers(guarantee, None), *table, strict=True):
        assert least <= min(each) * (1 + 1e-9)
        assert any(least.method == bound.method for bound in each)


@every(ONE_OF_EACH)
def test_the_tight_answer_is_the_least_where_it_is_certified(guarantee: Guarantee) -> None:
    table = [answers(guarantee, method) for method in METHODS]
    for *others, tight in zip(*table, strict=True):
        if tight.method == "tight":
            assert all(other >= tight.low * (1 - 1e-12) for other in others)
            if tight.low >= tight * (1 - 1e-9):
                assert tight <= min(others) * (1 + 2e-9)


def test_most_examples_have_certified_answers() -> None:
    """The control for the test above: it would hold for answers that certify nothing."""
    results = [epsilon(guarantee, 1e-6, "tight") for guarantee in ALL_ORDINARY]
    tight = [bound for bound in results if 0 < bound < math.inf and bound.method == "tight"]
    assert len(tight) >= 20
    assert sum(bound.low >= bound * (1 - 1e-9) for bound in tight) >= 6
    assert all(bound.low >= bound * (1 - 1e-6) for bound in tight if bound.low > 0)
    for guarantee, bound in zip(ALL_ORDINARY, results, strict=True):
        if bound.low == 0 < bound < math.inf and bound.method == "tight":
            assert not all(part.pair_is_least for part, _ in guarantee.components()), guarantee


@every(ONE_OF_EACH)
def test_an_answer_names_the_rule_that_was_asked_for(guarantee: Guarantee) -> None:
    for method in METHODS:
        answered = {bound.method for bound in answers(guarantee, method)}
        assert answered <= ({method, "rdp"} if method == "tight" else {method})


def test_a_bound_keeps_its_name_and_its_low_end() -> None:
    bound = (PureDP(0.1) + GaussianDP(1)).epsilon(1e-6)
    for other in (pickle.loads(pickle.dumps(bound)), copy.copy(bound), copy.deepcopy(bound)):
        assert (other, other.method, other.low) == (bound, "tight", bound.low)
    assert type(bound + 0.0) is float
    assert Bound(1.0, "rdp").low == 0.0
    assert Bound(1.0, "rdp", 2.0).low == 1.0


# -- groups ------------------------------------------------------------------------------------------------------------


@pytest.mark.many
@every(ONE_OF_EACH)
def test_a_group_of_one_is_guaranteed_the_same(guarantee: Guarantee) -> None:
    one = guarantee.group(1)
    assert [one.renyi(order) for order in ORDERS] == [guarantee.renyi(order) for order in ORDERS]
    assert [one.delta(e) for e in EPSILONS] == [guarantee.delta(e) for e in EPSILONS]


@pytest.mark.many
@every(ONE_OF_EACH)
@pytest.mark.parametrize("size", [2, 3])
def test_a_group_is_never_guaranteed_more(guarantee: Guarantee, size: int) -> None:
    if guarantee == RenyiDP([2], [0.1]):
        with pytest.raises(InvalidRequest, match="bounds at larger orders"):
            guarantee.group(size)
        return
    if isinstance(guarantee, TruncatedPoisson):
        with pytest.raises(InvalidRequest, match="No bound for groups is available for"):
            guarantee.group(size)
        return
    grown = guarantee.group(size)
    assert all(grown.renyi(order) >= guarantee.renyi(order) * (1 - 1e-12) for order in ORDERS)
    if not isinstance(grown, Grouped):  # whose curves take a second an answer
        assert all(grown.delta(e) >= delta(guarantee, e, None) * (1 - 1e-9) for e in EPSILONS)


def test_a_group_of_two_pairs_is_a_group_of_four() -> None:
    for guarantee in (PureDP(0.3), ZCDP(0.1), GaussianDP(0.7)):
        assert guarantee.group(2).group(2) == guarantee.group(4)


# -- what is refused ---------------------------------------------------------------------------------------------------

NAMES = {PureDP: "epsilon", ZCDP: "rho", GaussianDP: "mu"}
QUESTIONS = {
    "order": ("renyi", [math.nextafter(1, 0), 0.5, -2.0, math.nan, -math.inf, True, "2", None]),
    "delta": ("epsilon", [math.nextafter(1, 2), 1.5, -1e-9, math.nan, math.inf, True, "0.1", None]),
    "epsilon": ("delta", [math.nan, math.inf, True, "1", None]),
    "size": ("group", [0, -1, 1.5, True, "2", None]),
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf, -math.inf, True, "1", None, 1j, [1]])
def test_bad_numbers_are_refused(kind: type[Guarantee], value: object) -> None:
    with pytest.raises(InvalidRequest, match=NAMES[kind]):
        kind(value)


@every([*ONE_OF_EACH, 2 * PureDP(1)])
@pytest.mark.parametrize("name", QUESTIONS)
def test_bad_questions_are_refused(guarantee: Guarantee, name: str) -> None:
    method, values = QUESTIONS[name]
    for value in values:
        with pytest.raises(InvalidRequest, match=name):
            getattr(guarantee, method)(value)
