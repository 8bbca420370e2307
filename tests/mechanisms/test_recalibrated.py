"""Every mechanism says how it is calibrated anew: same body, same options, and what the guarantee asks for."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import gaugedp as gd
from gaugedp import mechanisms
from gaugedp.audit.noise import expected
from gaugedp.bodies import LpBall
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee
from gaugedp.mechanisms import Mechanism
from gaugedp.mechanisms.independent import IndependentNoise
from gaugedp.mechanisms.norm_noise import ALLOWANCE
from tests.mechanisms.registry import COUNTS, RECIPES, Recipe

INTERFACES = {"AdditiveNoise", "Calibrated", "Mechanism", "Prepared", "Quality", "Selection"}
ONE = gd.PureDP(1.0)


@pytest.fixture(params=RECIPES, ids=str)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    return request.param


def implies(kept: Guarantee, requested: Guarantee, walks: bool) -> bool:
    """Whether every ε that is asked for is kept; by a walk, at a δ that is its allowance larger."""
    more = ALLOWANCE if walks else 0.0
    deltas = [requested.delta_value] if isinstance(requested, gd.ApproxDP) else [0.0, 1e-6]
    return all(kept.epsilon(delta + more) <= requested.epsilon(delta) * (1 + 1e-9) for delta in deltas)


def test_every_mechanism_has_a_recipe() -> None:
    made = {type(recipe.made(recipe.guarantees[0])).__name__ for recipe in RECIPES}
    assert made == set(mechanisms.__all__) - INTERFACES


def test_it_has_the_kind_and_the_unit_of_its_recipe(recipe: Recipe) -> None:
    made = recipe.made(recipe.guarantees[0])
    assert isinstance(made, recipe.kind)
    assert isinstance(made, Mechanism) == (recipe.unit in {"answer", "rows"})
    assert not isinstance(made, Mechanism) or made.in_rows == (recipe.unit == "rows")
    assert recipe.unit != "score" or callable(made.error_bound)


@pytest.mark.many
def test_it_keeps_the_guarantee_on_the_same_body(recipe: Recipe) -> None:
    first = recipe.made(recipe.guarantees[0])
    for guarantee in recipe.guarantees:
        if isinstance(first, gd.Matrix) and ("Laplace" in recipe.name) != isinstance(guarantee, gd.PureDP):
            continue
        actual = first.recalibrated(guarantee)
        assert type(actual) is type(first)
        assert implies(actual.guarantee, guarantee, recipe.exactness == "mixing"), guarantee
        for field in ("body", "quality", "over", "weights", "strategy", "k", "quantiles", "absolute"):
            assert getattr(actual, field, None) is getattr(first, field, None) or field in {"k", "quantiles"}
        assert actual.exactness == recipe.exactness
        assert actual.form == recipe.form


@pytest.mark.many
def test_it_is_what_the_calibration_gives(recipe: Recipe) -> None:
    """Scales in the description have six digits; the bodies of both are the same."""
    first, second = recipe.guarantees[:2]
    one, other = recipe.made(first), recipe.made(second)
    assert one.recalibrated(second).describe() == other.describe()
    assert other.recalibrated(first).describe() == one.describe()
    assert repr(one.recalibrated(second)) == repr(other)


def test_its_own_guarantee_changes_nothing(recipe: Recipe) -> None:
    for guarantee in recipe.guarantees[:2]:
        made = recipe.made(guarantee)
        assert made.recalibrated(made.guarantee).describe() == made.describe()


@pytest.mark.parametrize("wrong", [gd.guarantees.RenyiDP(2, 0.1), gd.PureDP(0)], ids=str)
def test_what_it_is_not_made_for_is_refused(recipe: Recipe, wrong: Any) -> None:
    with pytest.raises(InvalidRequest):
        recipe.made(recipe.guarantees[0]).recalibrated(wrong)


def test_the_audit_asks_it(recipe: Recipe) -> None:
    first, second = recipe.guarantees[:2]
    model = expected(recipe.made(first), second)
    assert (model is None) == (recipe.form == "")
    assert model is None or model.describe() == recipe.made(second).describe()


def test_a_strategy_is_for_one_kind_of_noise() -> None:
    """A strategy for Laplace noise is not one for normal noise: its radius is of another norm."""
    laplace, normal = gd.Matrix.calibrate(COUNTS, ONE), gd.Matrix.calibrate(COUNTS, gd.GaussianDP(1.0))
    for mechanism, other in ((laplace, gd.ZCDP(0.5)), (normal, ONE)):
        with pytest.raises(InvalidRequest, match="This noise does not support"):
            mechanism.recalibrated(other)
        assert expected(mechanism, other) is None


def test_private_max_as_printed_keeps_what_it_says_rounded_up() -> None:
    """ε = 0.1 is kept as 0.15; of 1/3 + 1/10^16 three halves have no float, and the next one is said."""
    assert gd.NoisyMax.as_printed(LpBall(2, np.inf), gd.PureDP(0.1)).guarantee == gd.PureDP(0.15)
    for epsilon in (0.1, 1 / 3, 0.7, 1e-3 / 7):
        made = gd.NoisyMax.as_printed(LpBall(2, np.inf), gd.PureDP(epsilon))
        assert made.guarantee.cost("pure")[0] >= made.epsilon * 3 / 2


# -- mechanisms of one's own -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Own(IndependentNoise):
    """Laplace noise that somebody wrote: calibrated in their own way, and not anew."""

    name: ClassVar[str] = "Own"
    exactness: ClassVar[str] = "exact"
    p: ClassVar[float] = 1

    @classmethod
    def calibrate(cls, body, guarantee, scale=1.0):
        like = gd.Laplace.calibrate(body, gd.PureDP(guarantee.epsilon_value / scale))
        return cls(body, guarantee, None, like.step, like.radius, like.runs)

    def describe(self) -> str:
        return "my Laplace noise"


class Told(Own):
    def recalibrated(self, guarantee):
        return Told.calibrate(self.body, guarantee)


def white_box_alarms(found: gd.audit.Audit) -> bool:
    return any(test.alarms for test in found.tests if test.kind == "white-box")


ORIGIN, CORNER = np.zeros(4), np.eye(4)[1]


@pytest.mark.parametrize("kind", [Own, Told])
def test_a_correct_mechanism_of_ones_own_is_audited(kind) -> None:
    made = kind.calibrate(COUNTS, ONE)
    actual = gd.audit.audit(made, ORIGIN, CORNER, runs=4000, rng=gd.research_rng(1))
    assert not actual.violated, actual
    assert {test.kind for test in actual.tests} == {"white-box", "black-box"}
    assert actual.epsilon_lower > 0.5


@pytest.mark.parametrize("kind", [Own, Told])
def test_a_wrong_one_alarms(kind) -> None:
    actual = gd.audit.audit(kind.calibrate(COUNTS, ONE, 0.5), ORIGIN, CORNER, runs=4000, rng=gd.research_rng(1))
    assert actual.violated
    assert white_box_alarms(actual) == (kind is Told)


def test_one_that_does_not_say_how_keeps_its_own_guarantee_alone() -> None:
    made = Own.calibrate(COUNTS, ONE)
    assert made.recalibrated(ONE) is made
    with pytest.raises(InvalidRequest, match=r"Own cannot be calibrated for PureDP\(2\)"):
        made.recalibrated(gd.PureDP(2.0))
    weaker = gd.audit.audit(made, ORIGIN, CORNER, gd.PureDP(2.0), runs=1000, rng=gd.research_rng(1))
    assert {test.kind for test in weaker.tests} == {"black-box"}


class Narrower(gd.Laplace):
    """A subclass that is calibrated in its own way: its law is still compared with that of Laplace noise."""

    @classmethod
    def calibrate(cls, body, guarantee):
        return super().calibrate(body, gd.PureDP(1.25 * guarantee.epsilon_value), None)


def test_a_subclass_is_compared_with_the_law_of_its_parent() -> None:
    made = replace(Narrower.calibrate(COUNTS, ONE), guarantee=ONE)
    actual = gd.audit.audit(made, ORIGIN, CORNER, runs=4000, rng=gd.research_rng(1))
    assert white_box_alarms(actual)


# -- the audit computes the law by itself ----------------------------------------------------------------------------

BALL = LpBall(3, 2, 1.0)
TAMPERED = [
    (gd.Matrix.calibrate(COUNTS, ONE), "scale", 0.9),
    (gd.Matrix.calibrate(COUNTS, gd.GaussianDP(0.5)), "scale", 0.9),
    (gd.KNorm.calibrate(BALL, ONE), "epsilon", 1 / 0.9),
    (gd.Cube.calibrate(BALL, ONE), "epsilon", 1 / 0.9),
]


@pytest.mark.slow
@pytest.mark.parametrize(("made", "field", "factor"), TAMPERED, ids=str)
def test_the_expected_law_is_that_of_the_guarantee(made: Any, field: str, factor: float) -> None:
    """Noise that is a tenth too small alarms, at 1e-6, against the very mechanism that drew it; the right does not."""
    small, stream = replace(made, **{field: getattr(made, field) * factor}), gd.research_rng(3)
    assert min(gd.audit.noise_tests(made, made.draw(20_000, stream), stream).values()) > 1e-6
    assert min(gd.audit.noise_tests(small, small.draw(20_000, stream), stream).values()) < 1e-6
