"""White-box tests of mechanisms that choose: their outputs against the law that the claim asks for."""

import contextlib
import math
from dataclasses import replace
from typing import Any

import numpy as np

from gaugedp.audit import goodness
from gaugedp.audit.sources import Runs
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.bounded_range import ExponentialLoss
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.response import RandomizedResponseLoss
from gaugedp.mechanisms.exponential_density import ExponentialDensity
from gaugedp.mechanisms.peeling import Peeling
from gaugedp.mechanisms.quantiles import RankExponential
from gaugedp.samplers.uniform import uniform

Found = dict[str, float]

_PUBLIC_SEED = 20240229
_MOST_POINTS = 400_000  # uniform points that are weighted by the density


def expected_choice(mechanism: Any, claim: Guarantee) -> Any:
    """Return the mechanism that has the law which `claim` asks for, None where its law is not known."""
    if isinstance(mechanism, ExponentialDensity):
        return _expected_density(mechanism, claim)
    if not hasattr(mechanism, "probabilities"):
        return None
    if getattr(mechanism, "value_scale", None) is not None:  # the promise is shared between index and value
        return mechanism if claim == mechanism.guarantee else None
    if getattr(mechanism, "noise", None) == "laplace" or _many(mechanism):
        return None
    options = _options(mechanism)
    with contextlib.suppress(InvalidRequest):  # the mechanism is not made for such a claim
        return type(mechanism).calibrate(mechanism.body, claim, **options)
    return None


def _many(mechanism: Any) -> bool:
    return isinstance(mechanism, RankExponential) and mechanism.n_cells * len(mechanism.quantiles) > 1


def _options(mechanism: Any) -> dict[str, Any]:
    """What else a mechanism was calibrated with."""
    if isinstance(mechanism, Peeling):
        return {"k": mechanism.k, "share": mechanism.share}
    if isinstance(mechanism, RankExponential):
        return {"quantiles": mechanism.quantiles, "level": mechanism.level, "first": mechanism.first}
    return {"absolute": True} if getattr(mechanism, "absolute", False) else {}


def _expected_density(mechanism: ExponentialDensity, claim: Guarantee) -> ExponentialDensity | None:
    epsilon = _epsilon(claim)
    if mechanism.proposals or epsilon is None:
        return mechanism if claim == mechanism.guarantee else None
    return replace(mechanism, guarantee=claim, epsilon=epsilon)


def _epsilon(claim: Guarantee) -> float | None:
    known = isinstance(claim, PureDP | ExponentialLoss | RandomizedResponseLoss)
    return float(claim.value) if known else None  # type: ignore[attr-defined]


def choice_tests(model: Any, seen: Runs, answers: tuple[Any, Any]) -> Found:
    """Return p-values by name for the outputs of both sides."""
    found = Found()
    for name, side, answer in (("a", seen.is_a, answers[0]), ("b", ~seen.is_a, answers[1])):
        rows = seen.outputs.columns[side]
        tests = _of_points if isinstance(model, ExponentialDensity) else _of_indices
        found |= {f"{test} at {name}": p_value for test, p_value in tests(model, rows, answer).items()}
        if isinstance(model, Peeling):
            found |= {f"{test} at {name}": p_value for test, p_value in _of_values(model, rows, answer).items()}
    return found


def _of_indices(model: Any, rows: np.ndarray, answer: Any) -> Found:
    """Chi-square of the indices chosen against their probabilities, and successive choices."""
    law = np.asarray(model.probabilities(answer))
    chosen = rows[:, 0].astype(int) - getattr(model, "first", 0)
    counts = np.bincount(chosen, minlength=len(law))
    return {
        "law": goodness.chi_square(counts, law * len(rows)),
        "succession": goodness.succession(chosen[:, None]),
    }


def _of_values(model: Peeling, rows: np.ndarray, answer: Any) -> Found:
    """The noise of the values that come with the picks: its law and its size."""
    if model.law is None:
        return {}
    picks, values = model.split(rows)
    noise = np.rint(values / float(model.lattice_step)).astype(np.int64) - model.in_steps(answer)[picks]
    return {
        "law of values": goodness.fit(noise.ravel(), model.law),
        "size of values": goodness.size(noise.ravel(), model.law),
    }


def _of_points(model: ExponentialDensity, rows: np.ndarray, answer: Any) -> Found:
    """Means of scores and coordinates against those of uniform points that are weighted by the density."""
    points = uniform(model.over, min(_MOST_POINTS, 20 * len(rows)), research_rng(_PUBLIC_SEED))
    row = np.asarray(answer, dtype=float)
    weights = np.exp(model.log_weights(row, points))
    pairs = [(model.quality.values(row, rows), model.quality.values(row, points))]
    pairs += list(zip(rows.T, points.T, strict=True))
    scores = _weighted(*pairs[0], weights)
    places = goodness.together(_weighted(ours, theirs, weights) for ours, theirs in pairs[1:])
    return {"mean score": scores, "mean place": places, "succession": goodness.succession(rows)}


def _weighted(ours: np.ndarray, theirs: np.ndarray, weights: np.ndarray) -> float:
    """Return the p-value (CLT) of the mean of draws against a weighted mean, with the errors of both."""
    share = weights / weights.sum()
    mean = float(share @ theirs)
    error = math.sqrt(float(ours.var()) / len(ours) + float(share**2 @ (theirs - mean) ** 2))
    return goodness.two_sided((float(ours.mean()) - mean) / max(error, 1e-300))
