"""Upper bounds on the volume of hulls of few points."""

import math

import numpy as np

from gaugedp._internal.rounding import TRANSFORMS
from gaugedp.bodies.polytope import Polytope
from gaugedp.errors import InvalidRequest


def volume_upper_bound(body: Polytope) -> float:
    """Return an upper bound on the log volume of a polytope.

    Use it together with the lower bound of `bodies.volume` if the exact volume is not known.

    Parameters
    ----------
    body : Polytope
        A polytope K = conv{±v_j} with the generators v_j.

    Returns
    -------
    float
        The upper bound on log vol_r, where r is the rank.

    Raises
    ------
    InvalidRequest
        If the body is not a polytope, or is a single point.

    Notes
    -----
    The bound is the smallest of three. The first is 2^r·Πh_i for the box around the body, where h_i is the support
    along axis i. The other two are vol(B₂)²·(2π)^{−r/2}·t^r/ΠP(|g|·‖v_j‖ ≤ t) in two systems of coordinates, where B₂
    is the unit ball, g is standard normal, and t is the best number. The orders are those of Bárány and Füredi (1988);
    Lodrant (2019), theorems 4.5 to 4.7.

    Proof, for K of rank r in coordinates of its span and every t > 0. The polar body K° = {y : |⟨v_j, y⟩| ≤ 1 for all
    j} has vol(K)·vol(K°) ≤ vol(B₂)² (Blaschke and Santaló). A standard normal vector G has a density of at most
    (2π)^{−r/2}, so P(G ∈ tK°) ≤ (2π)^{−r/2}·t^r·vol(K°). The left side is at least ΠP(|⟨v_j, G⟩| ≤ t) (Šidák 1967), and
    ⟨v_j, G⟩ is distributed as ‖v_j‖·g.

    Examples
    --------
    The volume of a cross-polytope in three dimensions is 4/3. The upper bound is less than twice as large:

    >>> from math import exp
    >>> from gaugedp.bodies import Polytope, volume
    >>> from gaugedp.bounds import volume_upper_bound
    >>> body = Polytope.symmetric_hull([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> round(volume(body).value, 3), round(exp(volume_upper_bound(body)), 3)
    (1.333, 2.208)
    """
    if not isinstance(body, Polytope) or body.rank == 0:
        raise InvalidRequest(
            f"An upper bound on the volume needs a polytope with more than one point, but {body!r} is not one.",
            "Use bodies.volume for other bodies.",
        )
    columns = body.span.T @ (body.factor * body.symmetric_columns())
    rank = len(columns)
    values, vectors = np.linalg.eigh(columns @ columns.T)
    white = (vectors / np.sqrt(values)).T @ columns
    box = rank * math.log(2) + float(np.log(body.support(body.span.T)).sum())
    below = min(_by_polar(columns), _by_polar(white) + float(np.log(values).sum()) / 2)
    return min(box, below) + rank * TRANSFORMS


def _by_polar(columns: np.ndarray) -> float:
    """Return the bound by the polar body; every t gives one, and 200 are tried."""
    import scipy.special

    rank, count = columns.shape
    lengths = np.linalg.norm(columns, axis=0)
    # around the t at which each of n slabs loses about r/n of the normal distribution
    levels = lengths.max() * math.sqrt(2 * math.log1p(count / rank)) * np.geomspace(0.1, 10, 200)
    inside = np.log(scipy.special.erf(levels[:, None] / (lengths * math.sqrt(2)))).sum(axis=1)
    log_ball = rank / 2 * math.log(math.pi) - math.lgamma(rank / 2 + 1)
    return 2 * log_ball - rank / 2 * math.log(2 * math.pi) + float((rank * np.log(levels) - inside).min())
