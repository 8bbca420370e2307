"""The exponential mechanism on a convex body."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp._internal.validate import non_negative, positive, whole
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import STAYS_SPENT, InvalidRequest
from gaugedp.guarantees import ApproxDP, ExponentialLoss, Guarantee, PureDP
from gaugedp.mechanisms.base import Calibrated
from gaugedp.mechanisms.norm_noise import ALLOWANCE
from gaugedp.mechanisms.quality import Quality
from gaugedp.mechanisms.tuning import TUNED
from gaugedp.samplers.continuous import exponentials
from gaugedp.samplers.direct import has_direct
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.uniform import uniform

_MOST_PROPOSALS = 10**7
_PROPOSALS_AT_ONCE = 2**14


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialDensity(Calibrated):
    """Private choice of a point with a high score.

    Use it to select a point of a ball, an ellipsoid or a polytope if you can score how well each point fits the exact
    answer. `Quality` describes such a score. Points with higher scores are more likely to be drawn, as in the
    exponential mechanism for finitely many candidates.

    By default, the time that a draw takes depends on the data. Whoever can measure this time learns something that the
    guarantee does not cover. With `constant_time`, a slower method is used whose time reveals nothing.

    Notes
    -----
    The density of the selected point y is proportional to exp(ε·u(a, y)/2), where u(a, y) is the quality of y for the
    exact answer a. The point is then rounded to a lattice, that is, a grid of equally spaced points (McSherry and
    Talwar 2007).

    Theorem. Under the hypotheses of `Quality`, the privacy losses of any two outputs differ by at most ε. This
    property, here called ExponentialLoss(ε), implies ε-DP (their theorem 6; Dong, Durfee and Rogers 2020). The proof is
    in docs/theory/exponential_density.md.

    By default, uniform points are proposed until one is accepted (rejection sampling), which is exact in real
    arithmetic ("idealized"). On average, this takes at most exp(ε·(high − low)/2) proposals, where low and high are the
    bounds of the quality. With `constant_time`, a Metropolis walk over a fixed number n of `proposals` draws the point
    ("mixing"). Its distribution is within τ = (1 − exp(−ε·(high − low)/2))^n of the target in total variation
    (Mengersen and Tweedie 1996, theorem 2.1). Its guarantee is therefore ApproxDP(ε, (1 + e^ε)·τ).

    Examples
    --------
    Draw a point of a disc that is probably near the exact answer (3, 0). The score of a point is minus its distance
    from the answer. One unit moves the answer by at most 1, so it changes a score by at most 1:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> from gaugedp.bodies import LpBall
    >>> def nearness(answer, points):
    ...     return -np.linalg.norm(points - answer, axis=1)
    >>> quality = gd.Quality(nearness, LpBall(2, 2), bounds=(-10, 0))
    >>> mechanism = gd.ExponentialDensity.calibrate(quality, LpBall(2, 2, 5), gd.PureDP(5))
    >>> mechanism.sample(np.array([3.0, 0.0]), rng=gd.research_rng(1)).round(2).tolist()
    [3.59, -0.55]
    """

    quality: Quality
    over: Body
    guarantee: Guarantee
    epsilon: float
    proposals: int = 0

    name: ClassVar[str] = "ExponentialDensity"
    form: ClassVar[str] = "point"

    @classmethod
    def calibrate(
        cls, quality: Quality, over: Body, guarantee: Guarantee, constant_time: bool = False
    ) -> "ExponentialDensity":
        """Make the mechanism that selects a point with a high score.

        Parameters
        ----------
        quality : Quality
            The score of each point. Its sensitivity is tested on random points before the mechanism is made.
        over : Body
            The set of points, symmetric around the origin: a ball, an ellipsoid, or a polytope with exact uniform
            draws.
        guarantee : PureDP(ε), ExponentialLoss(ε) or ApproxDP(ε, δ)
            The guarantee of one draw, with ε > 0.
        constant_time : bool
            Whether the time of a draw must not depend on the data. The guarantee is then ApproxDP with δ = 1e−9, or
            with the δ of `guarantee` if that is positive and smaller. Default False.

        Raises
        ------
        InvalidRequest
            If the score fails the test, the set or the guarantee is not supported, or `constant_time` would need more
            than 10^7 proposals per draw.
        """
        epsilon = _epsilon(guarantee)
        _check_body(over)
        quality.check(over)
        if not constant_time:
            return cls(quality, over, ExponentialLoss(epsilon), epsilon)
        target_delta = guarantee.delta_value if isinstance(guarantee, ApproxDP) else 0.0
        delta = min(target_delta or ALLOWANCE, ALLOWANCE)
        count = _proposals(epsilon * quality.width / 2, float(np.logaddexp(0, epsilon)) - math.log(delta))
        return cls(quality, over, ApproxDP(epsilon, delta), epsilon, count)

    def recalibrated(self, guarantee: Guarantee) -> "ExponentialDensity":
        """Return the mechanism with the same quality, outputs and sampler."""
        return ExponentialDensity.calibrate(self.quality, self.over, guarantee, self.proposals > 0)

    @property
    def exactness(self) -> str:
        """ "mixing" for the walk, else "idealized" (exact in real arithmetic)."""
        return "mixing" if self.proposals else "idealized"

    @property
    def lattice_step(self) -> Fraction:
        """A power of two below radius/(m·2^12).

        Rounded points may lie up to half a step outside the body.
        """
        return Fraction(2) ** math.floor(math.log2(self.over.radius(2) / (self.over.ambient_dim * TUNED.fine_steps)))

    @property
    def rate(self) -> float:
        """The score factor ε/2, reduced for the rounding of scores."""
        return self.epsilon / (2 * (1 + self.quality.slack))

    def log_weights(self, answer: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return log densities minus their bound, at points (k, m)."""
        return self.rate * (self.quality.values(answer, points) - self.quality.bounds[1])

    def sample(self, answer: np.ndarray, rng: Entropy | None = None) -> np.ndarray:
        """Return one point (m,) for an answer. Charge it first."""
        return self.draw(answer, 1, system_rng() if rng is None else rng)[0]

    def draw(self, answer: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        """Return independent points, shape (size, m).

        Each of them costs the guarantee.
        """
        whole(minimum=1, size=size)
        row = np.asarray(answer, dtype=float)
        if row.shape != (self.quality.body.ambient_dim,) or not np.isfinite(row).all():
            raise InvalidRequest(
                f"The answer must consist of {self.quality.body.ambient_dim} finite numbers, but it has shape "
                f"{row.shape} or contains NaN or infinity.",
                f"Pass {self.quality.body.ambient_dim} finite numbers.",
                STAYS_SPENT,
            )
        points = self._walked(row, size, rng) if self.proposals else self._accepted(row, size, rng)
        step = float(self.lattice_step)
        return np.rint(points / step) * step

    def error_bound(self, t: float, slope: float) -> float:
        """Return a bound on the gap to the best score.

        Use it before a draw, to see how far the score of the selected point may fall below the best score of any point.

        Parameters
        ----------
        t : float
            The gap exceeds the bound with probability at most e^{−t}. With `constant_time`, this probability increases
            by the number τ of the class docstring.
        slope : float
            The largest change of a score per distance of two points, measured in the norm of `over`, whose unit ball is
            `over`.

        Returns
        -------
        float
            The bound, in the units of the score. It is at most the length of the score's range.

        Notes
        -----
        The bound holds for the point before rounding. It is the least value of 2λ·slope + (2/ε)·(r·log(1/λ) + t) over λ
        in (0, 1], or the length of the score's range if that is smaller. Here r is the rank of the body Y of points.
        Proof: for a best point y* of a score u, the score is at least max u − 2λ·slope on (1 − λ)y* + λY. This set has
        λ^r of the volume of Y. So, for every g > 0, P(u(a, out) ≤ max u − 2λ·slope − g) ≤ e^{−εg/2}·λ^{−r}.

        Examples
        --------
        For the example of the class, the gap exceeds 4.02 with probability at most e^{−3}, about 5 %:

        >>> import gaugedp as gd
        >>> import numpy as np
        >>> from gaugedp.bodies import LpBall
        >>> quality = gd.Quality(lambda a, points: -np.linalg.norm(points - a, axis=1), LpBall(2, 2), bounds=(-10, 0))
        >>> round(gd.ExponentialDensity.calibrate(quality, LpBall(2, 2, 5), gd.PureDP(5)).error_bound(3, slope=5), 2)
        4.02
        """
        non_negative(t=t)
        positive(slope=slope)
        share = min(1.0, self.over.rank / (2 * slope * self.rate))
        bound = 2 * share * slope + (t - self.over.rank * math.log(share)) / self.rate
        return min(bound, self.quality.width)

    def describe(self) -> str:
        """Return the distribution and the sampler, in words."""
        how = f"{self.proposals:,} steps of a walk" if self.proposals else "by rejection"
        return f"a point of a body of rank {self.over.rank}, scores within {self.quality.bounds}, {how}"

    def _accepted(self, answer: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        accepted: list[np.ndarray] = []
        missing, count = size, max(64, min(size, _PROPOSALS_AT_ONCE))
        while missing > 0:
            points = uniform(self.over, count, rng)
            heights = self.log_weights(answer, points)
            below = points[exponentials(count, rng) >= -heights][:missing]
            accepted.append(below)
            missing, count = missing - len(below), min(2 * count, _PROPOSALS_AT_ONCE)
        return np.concatenate(accepted)

    def _walked(self, answer: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        places = uniform(self.over, size, rng)
        heights = self.log_weights(answer, places)
        batch = max(1, _PROPOSALS_AT_ONCE // size)
        for start in range(1, self.proposals, batch):
            count = min(batch, self.proposals - start)
            points = uniform(self.over, count * size, rng)
            logs = self.log_weights(answer, points).reshape(count, size)
            coins = exponentials(count * size, rng).reshape(count, size)
            for proposal, height, coin in zip(points.reshape(count, size, -1), logs, coins, strict=True):
                is_accepted = height + coin >= heights  # with probability min(1, e^{new − old})
                places = np.where(is_accepted[:, None], proposal, places)
                heights = np.where(is_accepted, height, heights)
        return places


def _epsilon(guarantee: Guarantee) -> float:
    if isinstance(guarantee, PureDP | ExponentialLoss) and guarantee.epsilon_value > 0:
        return guarantee.epsilon_value
    if isinstance(guarantee, ApproxDP) and guarantee.epsilon_value > 0:
        return guarantee.epsilon_value
    raise InvalidRequest(
        f"The exponential mechanism cannot guarantee {guarantee!r}.",
        "Use PureDP, ExponentialLoss or ApproxDP with epsilon above 0.",
    )


def _check_body(over: Body) -> None:
    if not over.radius(2) > 0:
        raise InvalidRequest("The set of possible outputs is a single point.", "Use a larger set.")
    if not has_direct(over) and gauge_noise(over).walks:
        raise InvalidRequest(
            f"Uniform points cannot be drawn exactly from the set of outputs, a polytope of rank {over.rank}.",
            "Use a ball, a box, an ellipsoid, or a polytope of smaller rank.",
        )


def _proposals(log_ratio: float, log_inverse: float) -> int:
    """Return n ≥ e^{log_ratio}·log_inverse: then (1 − e^{−log_ratio})^n ≤ e^{−log_inverse}."""
    if log_ratio + math.log(log_inverse) > math.log(_MOST_PROPOSALS):
        raise InvalidRequest(
            f"A draw would need more than {_MOST_PROPOSALS:,} proposals, whose number grows like e^{log_ratio:.4g}.",
            "Use narrower bounds, a smaller epsilon, or constant_time=False.",
        )
    return math.ceil(math.exp(log_ratio) * log_inverse * (1 + 1e-9)) + 1
