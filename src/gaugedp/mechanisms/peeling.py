"""Peeling: the k largest scores, with noisy values."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import scipy

from gaugedp._internal.validate import between, decimal, one_of, whole
from gaugedp.accountant.rounding import up
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, ExponentialLoss, GaussianDP, Guarantee, PureDP, compose
from gaugedp.guarantees.calibrate import largest_parameter
from gaugedp.mechanisms.base import is_integer, lattice_radius
from gaugedp.mechanisms.selection import Selection, is_monotone, score_lattice, tail
from gaugedp.samplers.choice import choose
from gaugedp.samplers.discrete import discrete_laplace
from gaugedp.samplers.laws import DiscreteLaplace, Law, RoundedGaussian

NOISES = ("gumbel", "laplace")


@dataclass(frozen=True, eq=False, repr=False)
class Peeling(Selection):
    """Private selection of the largest scores, with noisy values.

    Use it to select `k` candidates and to release their scores, such as the ten most frequent words. Candidates are
    selected one after another: each time the one with the largest absolute score or, for counts if units are added or
    removed, with the largest score. An output is a row of k indices followed by k values, and `split` separates the
    two.

    Notes
    -----
    Let B be the largest change of one score by one protected unit, which is `body.radius(∞)`.

    Theorem. By default (`noise` = "gumbel"), the selection consists of k exponential mechanisms, each of which
    satisfies ExponentialLoss(e) for a share e of the budget. They are drawn jointly as the k largest scores with Gumbel
    noise (Durfee and Rogers 2019). The values get Gaussian noise, which is μ-GDP if its standard deviation is the
    smaller of √k·B and the ℓ₂ radius of `body`, divided by μ. Under PureDP, they get discrete Laplace noise instead.

    With `noise` = "laplace", the algorithm is the one that Cai, Wang and Zhang published (2021, algorithm 2). Each of
    its rounds costs 1.5 times the published ε, but the total is still (ε, δ)-DP (docs/theory/peeling.md).

    Examples
    --------
    Select two of three parties, which have 10, 9 and 5 votes, at a large ε. The first two numbers of the output are the
    selected indices, and the last two are the noisy numbers of votes:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> body = gd.query(gd.Domain.of(party=["a", "b", "c"]), "party").sensitivity(gd.PrivacyUnit())
    >>> gd.Peeling.calibrate(body, gd.PureDP(9), 2).sample(np.array([10, 9, 5]), rng=gd.research_rng(1)).tolist()
    [0.0, 1.0, 10.0, 9.0]
    """

    k: int
    noise: str
    law: Law | None
    share: float = 0.5

    name: ClassVar[str] = "Peeling"

    @classmethod
    def calibrate(
        cls, body: Body, guarantee: Guarantee, k: int = 1, noise: str = "gumbel", share: float = 0.5
    ) -> "Peeling":
        """Return the mechanism for ApproxDP, ZCDP or PureDP.

        With "laplace" noise, only ApproxDP is supported. `share` is the part of the budget for the choice, in zCDP (in
        ε under PureDP). At `share` = 1 no values are released, and an output is the row of indices.
        """
        whole(minimum=1, k=k)
        one_of(NOISES, noise=noise)
        if share != 1:
            between(0, 1, share=share)
        if k > body.ambient_dim:
            raise InvalidRequest(
                f"`k` is {k}, but there are only {body.ambient_dim} candidates.", "Choose a smaller `k`."
            )
        return _as_printed(body, guarantee, k) if noise == "laplace" else _calibrated(body, guarantee, k, share)

    def recalibrated(self, guarantee: Guarantee) -> "Peeling":
        """Return the mechanism with the same options for a guarantee."""
        if guarantee == self.guarantee:
            return self
        return Peeling.calibrate(self.body, guarantee, self.k, self.noise, self.share)

    @property
    def form(self) -> str:
        """ "picks" if the distribution of the first pick is known."""
        return "picks" if self.noise == "gumbel" else ""

    def split(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return outputs (…, 2k) as indices and values (…, k)."""
        return outputs[..., : self.k].astype(np.int64), outputs[..., self.k :]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the first pick's distribution (d,), for Gumbel noise only."""
        if self.noise == "laplace":
            raise InvalidRequest(
                "The distribution of a selection is computed only for Gumbel noise, but this mechanism has "
                "Laplace noise.",
                'Use noise="gumbel".',
                "",
            )
        numbers = self.in_steps(scores)
        sizes = numbers if self.monotone else np.abs(numbers)
        return scipy.special.softmax(sizes * float(self.rate))

    def error_bound(self, failure: float) -> float:
        """Return how far any pick may fall below the best.

        The bound is (2B/e)·log(d·k/`failure`) for d scores, and twice as much with Laplace noise. It holds except with
        probability `failure`.
        """
        far = tail(self.n_candidates * self.k, failure) / float(self.rate) * (2 if self.noise == "laplace" else 1)
        return (far + (self.step != 1)) * float(self.step)

    def half_width(self, level: float) -> float:
        """Return the half-width of an interval for each score.

        The interval contains the score with probability at least `level`.
        """
        if self.law is None:
            raise InvalidRequest(
                "This selection was calibrated to release positions only, without values.",
                "Calibrate it with a `share` below 1.",
                "",
            )
        return float(self.law.half_width(level) + (0.5 if self.step != 1 else 0)) * float(self.step)

    @property
    def value_std(self) -> float:
        """The standard deviation of a value's noise; 0 without values."""
        return 0.0 if self.law is None else math.sqrt(self.law.variance) * float(self.step)

    def describe(self) -> str:
        """Return the picks and the noise of the values."""
        scale = float(self.step / self.rate)
        choice = f"{self.k} of {self.n_candidates:,}, {self.noise.title()} noise of scale {scale:.6g}"
        if self.law is None:
            return choice
        kind = "Laplace" if isinstance(self.law, DiscreteLaplace) else "Gaussian"
        return f"{choice}; values {kind}, std {self.value_std:.6g}"

    def _draw(self, scores: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        sizes = scores if self.monotone else np.abs(scores)
        picks = np.array([self._picks(scores, sizes, rng) for _ in range(size)])
        if self.law is None:
            return picks
        values = scores[picks] + self.law.draw(size * self.k, rng).reshape(size, self.k)
        return np.hstack([picks, values * float(self.step)])

    def _picks(self, scores: np.ndarray, sizes: np.ndarray, rng: Entropy) -> list[int]:
        remaining, picks = np.arange(len(sizes)), []
        for _ in range(self.k):
            if self.noise == "laplace":
                noisy = np.abs(scores[remaining] + discrete_laplace(len(remaining), 1 / self.rate, rng))
                place = int(noisy.argmax())
            else:
                place = int(choose(-sizes[remaining], self.rate, 1, rng)[0])
            picks.append(int(remaining[place]))
            remaining = np.delete(remaining, place)
        return picks


def _as_printed(body: Body, guarantee: Guarantee, k: int) -> Peeling:
    if not isinstance(guarantee, ApproxDP) or not guarantee.delta_value > 0:
        raise InvalidRequest(
            f"Peeling with Laplace noise does not support {guarantee!r}.", "Use ApproxDP with delta above 0."
        )
    step_epsilon = guarantee.epsilon_value / (2 * math.sqrt(3 * k * math.log(1 / guarantee.delta_value)))
    step, width = score_lattice(body)
    true = k * PureDP(up(1.5 * step_epsilon))
    if true.epsilon(guarantee.delta_value) > guarantee.epsilon_value:
        raise InvalidRequest("Peeling with Laplace noise does not support such a large epsilon.", 'Use noise="gumbel".')
    return Peeling(
        body,
        true,
        decimal(step_epsilon),
        step,
        width,
        False,
        k,
        "laplace",
        DiscreteLaplace(2 * width / decimal(step_epsilon)),
    )


def _calibrated(body: Body, guarantee: Guarantee, k: int, share: float) -> Peeling:
    step, width = score_lattice(body)
    monotone = is_monotone(body)
    if isinstance(guarantee, PureDP) and guarantee.epsilon_value > 0:
        epsilon = decimal(guarantee.epsilon_value)
        pick_epsilon, value_epsilon = decimal(share) * epsilon / k, (1 - decimal(share)) * epsilon
        law: Law | None = (
            DiscreteLaplace(_value_radius(body, step, width, k, 1) / value_epsilon) if value_epsilon else None
        )
        return Peeling(body, guarantee, pick_epsilon, step, width, monotone, k, "gumbel", law, share)
    each_range, mu = _parts(_rho(guarantee, k, share), k, share)
    law = RoundedGaussian(_value_radius(body, step, width, k, 2) / decimal(mu)) if mu else None
    return Peeling(
        body, _guarantee(each_range, mu, k), decimal(each_range), step, width, monotone, k, "gumbel", law, share
    )


def _parts(rho: float, k: int, share: float) -> tuple[float, float]:
    """Return (e, μ) with k·e²/8 = share·ρ and μ²/2 = (1 − share)·ρ."""
    return math.sqrt(8 * share * rho / k), math.sqrt(2 * (1 - share) * rho)


def _guarantee(each_range: float, mu: float, k: int) -> Guarantee:
    return compose([(ExponentialLoss(each_range), k), (GaussianDP(mu), 1)])


def _rho(guarantee: Guarantee, k: int, share: float) -> float:
    """Return the largest ρ for `_parts` that satisfies the guarantee."""
    if isinstance(guarantee, ZCDP) and guarantee.rho > 0:
        return guarantee.rho * (1 - 2.0**-40)
    if isinstance(guarantee, ApproxDP) and guarantee.delta_value > 0:
        epsilon, delta = guarantee.epsilon_value, guarantee.delta_value
        return largest_parameter(lambda rho: _guarantee(*_parts(rho, k, share), k), epsilon, delta)
    raise InvalidRequest(f"Peeling does not support {guarantee!r}.", "Use ApproxDP (delta above 0), ZCDP or PureDP.")


def _value_radius(body: Body, step: Fraction, width: int, k: int, p: int) -> Fraction:
    """Return a bound on the ℓ_p sensitivity of k scores."""
    cube = width * (Fraction(k) if p == 1 else decimal(up(math.sqrt(k))))
    if is_integer(body):
        return min(cube, lattice_radius(body, p, None)[1])
    return min(cube, decimal(up(body.radius(p), 2.0**-40)) / step + cube / width)
