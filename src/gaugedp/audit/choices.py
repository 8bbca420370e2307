"""White-box tests of mechanisms that choose: their outputs against the law that the claim asks for."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gaugedp.audit import goodness_of_fit
from gaugedp.audit.goodness_of_fit import Found
from gaugedp.audit.samples import Runs
from gaugedp.entropy import research_rng
from gaugedp.samplers.uniform import uniform

_PUBLIC_SEED = 20240229
_MOST_POINTS = 400_000  # uniform points that are weighted by the density


def choice_tests(model: Any, runs: Runs, answers: tuple[Any, Any]) -> Found:
    """Return p-values by name for the outputs of both sides, by the `form` of the mechanism `model`."""
    p_values = Found()
    for name, side, answer in (("a", runs.is_a, answers[0]), ("b", ~runs.is_a, answers[1])):
        tests = CHOICE_TESTS[model.form](model, runs.outputs.columns[side], answer)
        p_values |= {f"{test} at {name}": p_value for test, p_value in tests.items()}
    return p_values


def _of_indices(model: Any, rows: np.ndarray, answer: Any, first: int = 0) -> Found:
    """Chi-square of the indices chosen, counted from `first`, against their probabilities, and successive choices."""
    law = np.asarray(model.probabilities(answer))
    indices = rows[:, 0].astype(int) - first
    counts = np.bincount(indices, minlength=len(law))
    return {
        "law": goodness_of_fit.chi_square(counts, law * len(rows)),
        "succession": goodness_of_fit.succession(indices[:, None]),
    }


def _of_picks(model: Any, rows: np.ndarray, answer: Any) -> Found:
    """The first pick; and of the noise of the values that come with the picks its law and its size."""
    p_values = _of_indices(model, rows, answer)
    if model.law is None:
        return p_values
    picks, values = model.split(rows)
    noise = np.rint(values / float(model.lattice_step)).astype(np.int64) - model.in_steps(answer)[picks]
    return p_values | {
        "law of values": goodness_of_fit.fit(noise.ravel(), model.law),
        "size of values": goodness_of_fit.size(noise.ravel(), model.law),
    }


def _of_points(model: Any, rows: np.ndarray, answer: Any) -> Found:
    """Means of scores and coordinates against those of uniform points that are weighted by the density."""
    points = uniform(model.over, min(_MOST_POINTS, 20 * len(rows)), research_rng(_PUBLIC_SEED))
    row = np.asarray(answer, dtype=float)
    weights = np.exp(model.log_weights(row, points))
    pairs = [(model.quality.values(row, rows), model.quality.values(row, points))]
    pairs += list(zip(rows.T, points.T, strict=True))
    scores = _weighted(*pairs[0], weights)
    places = goodness_of_fit.union_bound(_weighted(ours, theirs, weights) for ours, theirs in pairs[1:])
    return {"mean score": scores, "mean place": places, "succession": goodness_of_fit.succession(rows)}


def _weighted(ours: np.ndarray, theirs: np.ndarray, weights: np.ndarray) -> float:
    """Return the p-value (CLT) of the mean of draws against a weighted mean, with the errors of both."""
    share = weights / weights.sum()
    mean = float(share @ theirs)
    error = math.sqrt(float(ours.var()) / len(ours) + float(share**2 @ (theirs - mean) ** 2))
    return goodness_of_fit.two_sided((float(ours.mean()) - mean) / max(error, 1e-300))


CHOICE_TESTS: dict[str, Callable[[Any, np.ndarray, Any], Found]] = {
    "choice": _of_indices,
    "value": lambda model, rows, answer: _of_indices(model, rows, answer, model.first),
    "picks": _of_picks,
    "point": _of_points,
}
