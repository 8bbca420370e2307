"""Pure guarantees by the laws of the coordinates: no draws, and nothing that a mechanism says but its `runs`."""

import numpy as np
import pytest

import gaugedp as gd
from tests.cases import one_in
from tests.mechanisms.registry import CASES, Case

CASES_OF_LAWS = [
    case for case in CASES if case.mechanism.form == "independent" and np.isfinite(case.mechanism.guarantee.epsilon(0))
]


def log_probabilities(law, k: np.ndarray) -> np.ndarray:
    """log P(N = k) of a symmetric law of whole numbers, from its coverage P(|N| ≤ k)."""
    k = np.abs(k).astype(float)
    inside, outside = law.coverage(k - 1), law.coverage(k)
    return np.log(np.where(k == 0, outside, (outside - inside) / 2))


def largest_ratio(law, shift: int) -> float:
    """max over outputs k of |log P(N = k)/P(N = k − shift)|, for k where both are likely enough to be computed."""
    reach = 3 * abs(shift) + 5
    k = np.unique(np.linspace(-reach, reach, 4001).astype(np.int64))
    k = k[law.coverage(np.maximum(np.abs(k), np.abs(k - shift)).astype(float)) < 1 - 1e-9]
    return float(np.abs(log_probabilities(law, k) - log_probabilities(law, k - shift)).max(initial=0.0))


def largest_loss(case: Case, mechanism) -> float:
    """The largest sum of these between answers of neighbours, in directions that weigh against the widths."""
    signs = np.random.default_rng(7).choice([-1.0, 0.0, 1.0], (200, case.body.ambient_dim))
    signs = np.vstack([signs, np.eye(case.body.ambient_dim), np.ones(case.body.ambient_dim)])
    apart = case.body.argmax(signs[signs.any(axis=1)] / np.sqrt(mechanism.variances)) / float(mechanism.lattice_step)
    whole = np.unique(np.trunc(apart + np.sign(apart) * 1e-9).astype(np.int64), axis=0)
    laws = [law for count, law in mechanism.runs for _ in range(count)]
    return max(sum(map(largest_ratio, laws, row.tolist())) for row in whole)


@pytest.mark.parametrize("case", one_in(4, CASES_OF_LAWS), ids=str)
def test_a_pure_guarantee_covers_the_likelihood_ratios_of_its_laws(case: Case) -> None:
    assert largest_loss(case, case.mechanism) <= case.mechanism.guarantee.epsilon(0) * (1 + 1e-6)


@pytest.mark.parametrize("kind", sorted({type(case.mechanism) for case in CASES_OF_LAWS}, key=str))
def test_noise_a_tenth_too_small_is_seen(kind: type) -> None:
    """A control for each class: its own noise at 1.11 times the guarantee breaks the guarantee on some body."""
    for case in CASES_OF_LAWS:
        if type(case.mechanism) is kind:
            claimed = case.mechanism.guarantee.epsilon(0)
            if largest_loss(case, case.mechanism.recalibrated(gd.PureDP(1.11 * claimed))) > claimed * (1 + 1e-6):
                return
    pytest.fail(f"{kind.__name__} with too little noise is not seen on any body")
