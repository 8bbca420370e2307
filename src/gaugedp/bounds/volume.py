"""Volume lower bounds on errors under pure DP, with constants."""

import math
import sys
from typing import Any

import numpy as np

from gaugedp._internal.rounding import PARAMETERS
from gaugedp._internal.validate import one_of, positive
from gaugedp.bodies import Body, LpBall, Volume, image, volume
from gaugedp.bodies.frame import independent
from gaugedp.bounds.sphere import certified_volume
from gaugedp.errors import InvalidRequest

_LOG_LARGEST = math.log(sys.float_info.max) - 1e-9
_SUMMED_WAVES = 64  # terms of a series that are added one by one


class VolumeBound(float):
    """Lower bound on an expected error, from a volume.

    It is a float. `volume` is that of the body or of one of its projections, in `rank` dimensions. `kind` states how
    the volume is known: "exact" and "lower" are proved, "certified" holds with `confidence`, and "estimate" has only a
    `standard_error`.
    """

    volume: Volume
    rank: int
    standard_error: float | None

    def __new__(cls, value: float, volume: Volume, rank: int, standard_error: float | None = None) -> "VolumeBound":
        """Return the bound."""
        bound = super().__new__(cls, value)
        bound.volume, bound.rank, bound.standard_error = volume, rank, standard_error
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.volume, self.rank, self.standard_error)

    @property
    def kind(self) -> str:
        """Kind of the volume, as in `bodies.Volume`."""
        return self.volume.kind

    @property
    def confidence(self) -> float:
        """Confidence in the bound: 1 for a proof.

        It is 1 − 1e−9 for a "certified" bound.
        """
        return self.volume.confidence


def volume_lower_bound(body: Body, epsilon: float, norm: float = 2, power: int = 1) -> VolumeBound:
    """Return a lower bound on the error under ε-DP, from the volume.

    Use it to see how far a mechanism is from the best possible one. The larger the volume of the sensitivity body, the
    larger is the error that no mechanism can avoid. If the answers are counts, which are integers, the result is the
    bound for real-valued data; see `counts_lower_bound`.

    Notes
    -----
    Let Fx be the answers to a table x. Every ε-DP mechanism M has sup_x E‖M(x) − Fx‖_p^s ≥ L. Here p ≥ 1 is `norm`
    (default 2), s is `power`, 1 (default) or 2, and L is the result.

    Theorem (docs/theory/lower-bound.md, theorem 1; after Hardt and Talwar 2010, who have no constants). Let x run over
    ℝ^n, or over the x ≥ 0. Let U be convex and symmetric with F·U = K, where K is the body, of rank r. Let P(M(x) ∈ S)
    ≤ e^ε·P(M(x′) ∈ S) whenever x − x′ ∈ U. Then the bound holds with

        L = κ^s · min_{0≤u≤1} Σ_{k≥0} (u + k)^{r−1+s} e^{−εk} / Σ_{k≥0} (u + k)^{r−1} e^{−εk},

    where κ = (vol_r K/vol_r B)^{1/r} and B is the unit ball of ℓ_p^r. Proof: let f be the radial rearrangement of the
    density in step 2 there. By step 3, f(t + κ) ≥ e^{−ε}·f(t), so f((u + k)κ)·e^{εk} does not decrease in k. The error
    is at least κ^s times the least quotient, over u, of Σ_k f((u + k)κ)·(u + k)^m at m = r − 1 + s and at m = r − 1,
    which is least for f((u + k)κ) = e^{−εk} (Chebyshev). A flat body with p ≠ 2 is first projected onto r coordinates,
    which makes no vector longer.

    Examples
    --------
    No mechanism with ε = 1 for an ℓ₁ ball in three dimensions has an expected ℓ₂ error below 2.034:

    >>> import gaugedp as gd
    >>> round(gd.bounds.volume_lower_bound(gd.bodies.LpBall(3, 1), epsilon=1.0), 3)
    2.034
    """
    shown, body_volume = _measured(body, norm)
    return bound_from_volume(body_volume, shown, epsilon, (norm, power), sharp=False)


def staircase_lower_bound(body: Body, epsilon: float, norm: float = 2, power: int = 1) -> VolumeBound:
    """Return a larger lower bound from the volume.

    Use it like `volume_lower_bound`, which has the same setting and arguments but gives a smaller number.

    Notes
    -----
    The bound is sharp if the body K is a ball of ℓ_p:

        L = κ^s · r/(r + s) · min_{0≤u≤1} Σ_{k≥0} (u + k)^{r+s} e^{−εk} / Σ_{k≥0} (u + k)^r e^{−εk}.

    At r = s = 1 it is κ·e^{ε/2}/(e^ε − 1), the error of the staircase mechanism (Geng and Viswanath 2014). The proof is
    in docs/theory/lower-bound.md, theorem 2.

    Examples
    --------
    For one count at ε = 1, the bound is 0.96, which the staircase mechanism attains:

    >>> import gaugedp as gd
    >>> body = gd.bodies.LpBall(1, 1)
    >>> bound = gd.bounds.staircase_lower_bound(body, epsilon=1.0)
    >>> round(bound, 2), round(gd.Staircase.calibrate(body, gd.PureDP(1)).error(1), 2)
    (0.96, 0.96)
    """
    shown, body_volume = _measured(body, norm)
    return bound_from_volume(body_volume, shown, epsilon, (norm, power), sharp=True)


def bound_from_volume(
    body_volume: Volume, rank: int, epsilon: float, moment: tuple[float, int] = (2, 1), sharp: bool = True
) -> VolumeBound:
    """Return the lower bound for a volume in `rank` dimensions.

    Use it if you know the volume of a body, but not the body. `moment` is (norm, power), by default (2, 1), as in
    `volume_lower_bound`. `sharp`, the default, selects the formula of `staircase_lower_bound`.
    """
    norm, power = moment
    positive(epsilon=epsilon)
    one_of(("1", "2"), power=f"{power}")
    ball = volume(LpBall(rank, norm)).log_volume
    rounding = body_volume.log_error + PARAMETERS * (1 + abs(body_volume.log_volume) + abs(ball))
    log_radius = (body_volume.log_volume - ball - rounding) / rank
    log_ratio = log_least_ratio(rank if sharp else rank - 1, epsilon, power)
    log = power * log_radius + log_ratio + (math.log(rank / (rank + power)) if sharp else 0.0)
    value = 0.0 if math.isinf(log) else math.exp(min(log - PARAMETERS * (1 + abs(log)), _LOG_LARGEST))
    error = body_volume.standard_error
    return VolumeBound(value, body_volume, rank, None if error is None else value * power / rank * error)


def check_norm(norm: float) -> None:
    """Refuse p below 1, which has no ℓ_p norm."""
    if not norm >= 1:
        raise InvalidRequest(
            f"`norm` is {norm!r}, but must be at least 1.", "Pass a number of at least 1, or math.inf."
        )


def largest_volume(body: Body) -> Volume:
    """Return the exact volume, or the best lower bound."""
    proved = volume(body)
    certified = certified_volume(body) if proved.kind == "lower" else None
    return certified if certified is not None and certified.log_volume > proved.log_volume else proved


def _measured(body: Body, norm: float) -> tuple[int, Volume]:
    """Return rank and volume, of a shadow if flat and the norm is not ℓ₂."""
    check_norm(norm)
    rank = body.rank
    if not rank:
        raise InvalidRequest(
            "The body is a single point, so no unit can change the answer and the error can be 0.",
            "Use a query whose answers depend on the rows.",
        )
    if norm != 2 and rank < body.ambient_dim:
        body = image(body, np.eye(body.ambient_dim)[np.sort(independent(body.span.T)[:rank])])
    return rank, largest_volume(body)


def log_least_ratio(exponent: int, epsilon: float, power: int) -> float:
    """Return at most log min over 0 ≤ u ≤ 1 of S_{m+p}(u)/S_m(u).

    S_m(u) = Σ_{k≥0} (u + k)^m e^{−εk}, and m = `exponent` ≥ 0 and p = `power` ≥ 1 are integers. Rounded down: within
    1e−5 for ε ≤ 50 and m ≤ 100; −∞ above ε = 700.

    By Poisson's summation S_m(u) = e^{εu}·m!/ε^{m+1}·(1 + waves), so that S_{m+p}/S_m = (m + 1)…(m + p)/ε^p up to the
    waves. If those are not negligible the minimum is searched for: on a cell [a, b] with middle c, the convex numerator
    lies above its tangent at c and the convex denominator below its chord; the ratio of two affine functions is least
    at an end. Cells that this does not settle are halved.
    """
    if epsilon > 700.0:  # e^ε is still a float
        return -math.inf
    scale = math.fsum(math.log((exponent + i) / epsilon) for i in range(1, power + 1))
    waves = _waves(exponent, epsilon)
    share = 1 - 2 * waves if waves < 1e-6 else _least_share((exponent, epsilon, power))  # waves that are not searched
    return math.log(share) + scale - 2.0**-48 * (1 + abs(scale)) if share > 0 else -math.inf


def _waves(exponent: int, epsilon: float, *, least_epsilon: float = 1e-290) -> float:  # below it waves are as small
    """Return an upper bound of 2·Σ_{n≥1} |1 + 2πin/ε|^{−m−1}, falling in m."""
    if exponent == 0:
        return 1.0
    log_first = (exponent + 1) * math.log(epsilon / (2 * math.pi))
    log_tail = log_first - exponent * math.log(_SUMMED_WAVES) - math.log(exponent)
    if log_tail > 0:
        return 1.0
    slopes = 2 * math.pi / max(epsilon, least_epsilon) * np.arange(1, _SUMMED_WAVES + 1)
    terms = np.hypot(1, slopes) ** -(exponent + 1.0)
    return min(1.0, 2.01 * (float(terms.sum()) + math.exp(log_tail)))


def _least_share(sums: tuple[int, float, int], *, first_cells: int = 8) -> float:
    """Return the least ratio over (m + 1)…(m + p)/ε^p, rounded down."""
    precision = 1 - (1e-7 if sums[0] <= 50 else 1e-5)  # exponents up to which a fine search is quick
    edges = np.linspace(0, 1, first_cells + 1)
    low, high, settled, best = edges[:-1], edges[1:], math.inf, math.inf
    for _ in range(200):  # the minimum may lie as near to 0 as e^{−ε}
        lower, value = _on_cells(low, high, sums)
        best = min(best, value)
        still_open = lower < precision * best
        settled = min(settled, float(lower[~still_open].min(initial=math.inf)))
        low, high, lower = low[still_open], high[still_open], lower[still_open]
        if not 0 < len(low) * (sums[0] + sums[2]) < 2 * 10**5:  # sums held at a time, a sixth of them
            break
        low, high = _halved(low, high)
    return min(settled, float(lower.min(initial=math.inf)))


def _halved(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    middle = (low + high) / 2
    return np.concatenate([low, middle]), np.concatenate([middle, high])


def _on_cells(low: np.ndarray, high: np.ndarray, sums: tuple[int, float, int]) -> tuple[np.ndarray, float]:
    """Return lower bounds of the ratio on cells, and its least middle value.

    Without the factor: S_{m+p}/S_m is m!⁻¹(m + p)!/ε^p times the ratio of scaled sums, and S_{m+p}′ = (m +
    p)·S_{m+p−1}.
    """
    exponent, epsilon, power = sums
    last = exponent + power
    middle = (low + high) / 2
    table = scaled_sums(np.concatenate([low, high, middle]), epsilon, last)
    at_low, at_high, at_middle = np.split(table, 3, axis=1)
    error = 2.0**-50 * (last + 2) ** 2
    value, change = at_middle[last], at_middle[last - 1] * (epsilon * (high - low) / 2) * (1 + 2 * error)
    start = (value * (1 - error) - change) / (at_low[exponent] * (1 + error))
    end = (value * (1 - error) + change * (1 - 4 * error)) / (at_high[exponent] * (1 + error))
    return np.minimum(start, end) * (1 - error), float((value / at_middle[exponent]).min())


def scaled_sums(offsets: np.ndarray, epsilon: float, last: int) -> np.ndarray:
    """Return T_m(u) = (1 − e^{−ε})·ε^m/m!·Σ_{k≥0} (u + k)^m e^{−εk}.

    For m = 0 … last, shape (last + 1, len(offsets)). S_m(u) = u^m + e^{−ε}·S_m(u + 1) and the binomial theorem give T_m
    = (uε)^m/m! + Σ_{i=1}^m c_i·T_{m−i} with c_i = ε^i/i!/(e^ε − 1): no infinite sum remains. Nothing is subtracted, so
    the relative error is at most 3(last + 2)²·2^−53; and as Σ c_i = 1, nothing overflows.
    """
    steps = np.arange(1, last + 1)
    weights = np.cumprod(np.concatenate([[epsilon / math.expm1(epsilon)], epsilon / steps[1:]]))
    table = np.ones((last + 1, len(offsets)))  # the last row first: products then run over rows that are adjacent
    alone = np.ones(len(offsets))
    for m in steps:
        alone = alone * (offsets * epsilon / m)
        table[last - m] = alone + weights[:m] @ table[last - m + 1 :]
    return table[::-1]
