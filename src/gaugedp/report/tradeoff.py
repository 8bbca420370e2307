"""A picture of how well a test of membership can do under some guarantees."""

from collections.abc import Mapping

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee
from gaugedp.report.plots import draw_tradeoff

_RATES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 60)])
_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 60)])


def tradeoff_svg(guarantees: Mapping[str, Guarantee]) -> str:
    """Return the trade-off function of each of the named `guarantees` as SVG text; at most six.

    Across are false-positive rates, up a lower bound on the false-negative rate of any test, by lines for 61 values of
    ε; the dashed line is that of guessing.
    The larger the area below a curve, the more private. Needs `gaugedp[report]`.
    """
    if not 1 <= len(guarantees) <= 6:
        raise InvalidRequest(f"{len(guarantees)} guarantees are given.", "Give 1 to 6 of them, each by a name.")
    curves = {name: _curve(guarantee) for name, guarantee in guarantees.items()}
    return draw_tradeoff(curves, "The least share of members that any test misses")


def _curve(guarantee: Guarantee) -> list[tuple[float, float]]:
    """Return (α, β) with β ≥ 1 − δ − e^ε·α and β ≥ e^−ε·(1 − δ − α) for all ε looked at."""
    complements = 1 - np.array([float(guarantee.delta(float(epsilon))) for epsilon in _EPSILONS])
    rates, ratios = _RATES[:, None], np.exp(_EPSILONS)
    missed = np.maximum(complements - ratios * rates, (complements - rates) / ratios).max(axis=1)
    return list(zip(_RATES.tolist(), np.clip(missed, 0.0, 1.0).tolist(), strict=True))
