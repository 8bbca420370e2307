"""White-box tests: whether draws of a mechanism's noise follow the law that its guarantee asks of it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gaugedp._progress import Progress, silent
from gaugedp.audit import goodness_of_fit
from gaugedp.audit.choices import CHOICE_TESTS, choice_tests
from gaugedp.audit.goodness_of_fit import Found
from gaugedp.audit.linear import identity_tests, matrix_tests
from gaugedp.audit.samples import Runs
from gaugedp.audit.shapes import shaped_tests
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import AdditiveNoise, Calibrated
from gaugedp.mechanisms.independent import IndependentNoise

_MOST_LAWS = 24
_LEAST_DRAWS = 50


def noise_tests(
    mechanism: AdditiveNoise, draws: np.ndarray, rng: Entropy | None = None, progress: Progress = silent
) -> Found:
    """Return p-values by name for `draws` (n, d) of a mechanism's noise in lattice steps, n ≥ 100.

    Independent coordinates: law, size, signs, independence. Noise on cells: the same of the cells. Strategies: law,
    variances of projections. Noise of a body: the gauge's Gamma law, uniform draws, projections. All of them: repeated
    draws, and successive ones. Where the noise has its law each p-value is at most p with probability at most p (of
    many draws, where it says CLT in `goodness`). `rng` draws what they are compared with;
    `progress` is told the share of it that is drawn.
    """
    if draws.ndim != 2 or draws.shape[1] != mechanism.body.ambient_dim or len(draws) < _LEAST_DRAWS:
        raise InvalidRequest(
            f"The draws have shape {draws.shape}.",
            f"Give {_LEAST_DRAWS} draws or more, shape (n, {mechanism.body.ambient_dim}), in lattice steps.",
        )
    if mechanism.form not in NOISE_TESTS:
        raise InvalidRequest(f"No white-box test knows {mechanism!r}.", "Audit it as a function of an answer.")
    return NOISE_TESTS[mechanism.form](mechanism, draws, system_rng() if rng is None else rng, progress)


def expected(mechanism: Any, claim: Guarantee) -> Calibrated | None:
    """Return the mechanism as it is calibrated for `claim`, None where that, or a test of its law, is not known."""
    if not isinstance(mechanism, Calibrated) or mechanism.form not in {*NOISE_TESTS, *CHOICE_TESTS}:
        return None
    try:
        return mechanism.recalibrated(claim)
    except InvalidRequest:  # the mechanism is not made for such a claim
        return None


def white_box(model: Any, runs: Runs, answers: tuple[Any, Any], rng: Entropy, progress: Progress = silent) -> Found:
    """Return the p-values for the runs of an audit, against the mechanism `model` that the claim asks for."""
    if runs.noise is None:
        return choice_tests(model, runs, answers)
    return noise_tests(model, runs.noise, rng, progress)


def independent_tests(mechanism: IndependentNoise, draws: np.ndarray, *_: object) -> Found:
    """Return the tests of independent coordinates, each run of equal widths against its law."""
    stops = np.cumsum([count for count, _ in mechanism.runs])
    blocks = np.split(draws, stops[:-1], axis=1)
    parts = [(block.ravel(), law) for block, (_, law) in zip(blocks, mechanism.runs, strict=True)]
    parts = [parts[place] for place in goodness_of_fit.some(len(parts), _MOST_LAWS)]
    chance = float(np.prod([goodness_of_fit.chance_of_equals(law) ** count for count, law in mechanism.runs]))
    return {
        "law": goodness_of_fit.union_bound(goodness_of_fit.fit(*part) for part in parts),
        "size": goodness_of_fit.union_bound(goodness_of_fit.size(*part) for part in parts),
        "signs": goodness_of_fit.union_bound(goodness_of_fit.sign(values) for values, _ in parts),
        "independence": goodness_of_fit.independence(draws),
        "repeated draws": goodness_of_fit.repeats(draws, chance),
    }


NOISE_TESTS: dict[str, Callable[[Any, np.ndarray, Entropy, Progress], Found]] = {
    "independent": independent_tests,
    "cells": identity_tests,
    "strategy": matrix_tests,
    "shaped": shaped_tests,
}
