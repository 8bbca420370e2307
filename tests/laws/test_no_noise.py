"""No noise, no difference: with an enormous budget estimators equal scikit-learn, and queries equal pandas."""

import numpy as np
import pytest

from tests.laws.kit import batches, generator
from tests.laws.models import DATA, HOLDS, KNOWN, MODELS, Model

LAW = "no_noise"
COVERS = {"estimators": {model.name for model in MODELS}}


def gap(model: Model, kind: str, rng: np.random.Generator, **asked: object) -> float:
    """Return how far a fit is from its counterpart, over a thousandth of the spread and a step of rounded rows."""
    data = DATA[kind](rng)
    shown, wanted = model.shown(model.fitted(data, **asked), data), model.counterpart(data)
    assert shown.shape == wanted.shape
    return float(np.abs(shown - wanted).max() / (1e-3 * data.spread + data.step))


@pytest.mark.parametrize("cases", batches(LAW), ids=str)
def test_estimators_without_noise_are_those_of_scikit_learn(cases: range) -> None:
    """Two entries of the registry a case, one after the other, so that a quick run sees all; epsilon is 1e6 to 1e8."""
    for case in cases:
        for place in (2 * case, 2 * case + 1):
            model, kind = HOLDS[place % len(HOLDS)]
            rng = generator(LAW, place)
            asked = {
                "epsilon": 10 ** rng.uniform(6, 8),
                "delta": 0.0 if model.pure and rng.random() < 0.5 else 1e-6,
                "neighbours": str(rng.choice(["replace", "add_remove"])),
                "random_state": place,
            }
            assert gap(model, kind, rng, **asked) <= 1, f"case {case}: {model} on {kind} rows, {asked}"


@pytest.mark.parametrize(
    ("model", "kind", "case"),
    [
        pytest.param(model, kind, KNOWN[str(model), kind][0], marks=pytest.mark.xfail(reason=KNOWN[str(model), kind][1], strict=True))
        for model in MODELS
        for kind in model.kinds
        if (str(model), kind) in KNOWN
    ],
    ids=str,
)  # fmt: skip
def test_known_differences(model: Model, kind: str, case: int) -> None:
    """Fixed cases, at epsilon 1e6: who mends one removes its line of `KNOWN`."""
    assert gap(model, kind, np.random.default_rng([case, 45]), epsilon=1e6, delta=1e-6, random_state=case) <= 1


def test_every_known_difference_is_one_of_the_registry() -> None:
    assert set(KNOWN) <= {(str(model), kind) for model in MODELS for kind in model.kinds}
