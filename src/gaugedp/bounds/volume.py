"""What no pure mechanism can beat: the volume of the sensitivity body, with its constants."""

import math
import sys

import numpy as np

from gaugedp._validate import one_of, positive
from gaugedp.bodies.base import Body
from gaugedp.bodies.frame import independent
from gaugedp.bodies.lp import LpBall
from gaugedp.bodies.operations import image
from gaugedp.bodies.volume import Volume, volume
from gaugedp.bounds.radial import log_least_ratio
from gaugedp.bounds.sphere import certified_volume
from gaugedp.errors import InvalidRequest

_ROUNDING = 2.0**-40  # of 1 and of each logarithm: far more than a few dozen operations lose
_LOG_LARGEST = math.log(sys.float_info.max) - 1e-9


class VolumeBound(float):
    """A lower bound on an expected error: a float that knows the `volume` it rests on and that volume's `rank`.

    `kind` is that of the volume: "exact" or "lower" (proved), "certified" (true with `confidence`, over a public key),
    or "estimate" (no certificate), and then `standard_error` is that of this number.
    """

    volume: Volume
    rank: int
    standard_error: float | None

    def __new__(cls, value: float, volume: Volume, rank: int, standard_error: float | None = None) -> "VolumeBound":
        """Return the bound."""
        bound = super().__new__(cls, value)
        bound.volume, bound.rank, bound.standard_error = volume, rank, standard_error
        return bound

    def __getnewargs__(self) -> tuple[float, Volume, int, float | None]:  # type: ignore[override]
        return float(self), self.volume, self.rank, self.standard_error

    @property
    def kind(self) -> str:
        """That of the volume."""
        return self.volume.kind

    @property
    def confidence(self) -> float:
        """1 for a proof; 1 − 1e−9 for a "certified" bound."""
        return self.volume.confidence


def volume_lower_bound(body: Body, epsilon: float, norm: float = 2, power: int = 1) -> VolumeBound:
    """Return L such that every ε-DP mechanism M has sup_x E‖M(x) − Fx‖_p^s ≥ L, p = `norm` ≥ 1, s = `power` 1 or 2.

    Theorem. Let x run over ℝ^n, or over the x ≥ 0, and let P(M(x) ∈ S) ≤ e^ε·P(M(x′) ∈ S) whenever x − x′ ∈ U, U
    convex and symmetric with F·U = K, the body, of rank r. Then the bound holds with

        L = κ^s · min_{0≤u≤1} Σ_{k≥0} (u + k)^{r−1+s} e^{−εk} / Σ_{k≥0} (u + k)^{r−1} e^{−εk},

    κ = (vol_r K/vol_r B)^{1/r}, B the unit ball of ℓ_p^r (docs/theory/lower-bound.md, theorem 1; after Hardt and Talwar
    2010, who have no constants). A flat body with p ≠ 2 is first projected on r coordinates, which lengthens nothing.
    Answers that are counts are integers: there L is the bound of the relaxed question, see `counts_lower_bound`.
    """
    shown, body_volume = _measured(body, norm)
    return bound_from_volume(body_volume, shown, epsilon, (norm, power), sharp=False)


def staircase_lower_bound(body: Body, epsilon: float, norm: float = 2, power: int = 1) -> VolumeBound:
    """Return a larger L of which the theorem of `volume_lower_bound` is also true, with equality for K a ball of ℓ_p.

        L = κ^s · r/(r + s) · min_{0≤u≤1} Σ_{k≥0} (u + k)^{r+s} e^{−εk} / Σ_{k≥0} (u + k)^r e^{−εk}.

    At r = s = 1 it is κ·e^{ε/2}/(e^ε − 1), the error of the staircase mechanism (Geng and Viswanath 2014);
    docs/theory/lower-bound.md, theorem 2.
    """
    shown, body_volume = _measured(body, norm)
    return bound_from_volume(body_volume, shown, epsilon, (norm, power), sharp=True)


def bound_from_volume(
    body_volume: Volume, rank: int, epsilon: float, moment: tuple[float, int] = (2, 1), sharp: bool = True
) -> VolumeBound:
    """Return the bound for a volume in `rank` dimensions; `moment` is (norm, power), `sharp` picks theorem 2."""
    norm, power = moment
    positive(epsilon=epsilon)
    one_of(("1", "2"), power=f"{power}")
    ball = volume(LpBall(rank, norm)).log_volume
    rounding = body_volume.log_error + _ROUNDING * (1 + abs(body_volume.log_volume) + abs(ball))
    log_radius = (body_volume.log_volume - ball - rounding) / rank
    log_ratio = log_least_ratio(rank if sharp else rank - 1, epsilon, power)
    log = power * log_radius + log_ratio + (math.log(rank / (rank + power)) if sharp else 0.0)
    value = 0.0 if math.isinf(log) else math.exp(min(log - _ROUNDING * (1 + abs(log)), _LOG_LARGEST))
    error = body_volume.standard_error
    return VolumeBound(value, body_volume, rank, None if error is None else value * power / rank * error)


def check_norm(norm: float) -> None:
    """Refuse what is not the p of a norm ℓ_p."""
    if not norm >= 1:
        raise InvalidRequest(f"norm is {norm!r}.", "Give a number of at least 1, or infinity.")


def largest_volume(body: Body) -> Volume:
    """Return the volume where it is known exactly, else the larger of its lower bounds."""
    proved = volume(body)
    certified = certified_volume(body) if proved.kind == "lower" else None
    return certified if certified is not None and certified.log_volume > proved.log_volume else proved


def _measured(body: Body, norm: float) -> tuple[int, Volume]:
    """Return the rank and the volume; for a flat body and another norm than ℓ₂, of its shadow on r coordinates."""
    check_norm(norm)
    rank = body.rank
    if not rank:
        raise InvalidRequest("The body is a point: no answer can change.", "Ask something that depends on the rows.")
    if norm != 2 and rank < body.ambient_dim:
        body = image(body, np.eye(body.ambient_dim)[np.sort(independent(body.span.T)[:rank])])
    try:
        return rank, largest_volume(body)
    except RuntimeError as failure:  # Qhull gives up on some nearly degenerate hulls
        raise InvalidRequest(
            "The facets of the body could not be listed reliably.", "Merge generators that differ by rounding only."
        ) from failure
