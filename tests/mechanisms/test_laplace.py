"""Laplace noise: the tail that it promises, by the exact law."""

import numpy as np
import pytest

import gaugedp as gd


def exceeded(mechanism: gd.Laplace, weights: np.ndarray, bound: float) -> float:
    """P(max_i |noise_i|/w_i > bound), from the laws of the coordinates."""
    laws = [law for count, law in mechanism.runs for _ in range(count)]
    places = np.floor(bound * weights / float(mechanism.lattice_step))
    within = [law.coverage(place) for law, place in zip(laws, places, strict=True)]
    return float(1 - np.prod(within))


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [0.1, 0.1, 0.1], [0.1, 0.1, 1.0], [1.0, 4.0, 30.0]], ids=str)
def test_noise_over_the_weights_stays_within_its_tail(weights: list[float]) -> None:
    """Of weights below 1 a step is more than 1: that is where the bound was too low."""
    widths = np.array(weights)
    body = gd.query(gd.Domain.of(a=["x", "y", "z"]), "a").sensitivity(gd.PrivacyUnit())
    mechanism = gd.Laplace.calibrate(body, gd.PureDP(1.0), widths)
    for failure in np.geomspace(1e-6, 0.5, 500):
        assert exceeded(mechanism, widths, mechanism.error_bound(failure)) <= failure
