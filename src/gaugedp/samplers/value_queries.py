"""Proximal sampler by few values of single losses."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy

from gaugedp._internal.progress import Progress
from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, normals, uniforms
from gaugedp.samplers.discrete import uniform_below
from gaugedp.samplers.split import Oracle


@dataclass
class Queries:
    """Number of requested loss values, which depends on the rows and is covered by no guarantee."""

    total: int = 0


@dataclass(frozen=True)
class QueryPlan:
    """Public parameters of the sampler by values.

    They are the step η, a = `scale`, L = `lipschitz` of the sum of losses in ℓ₂, d, and `spread` ≥ λΘ = λ·(max r − min
    r). If all steps together need more than `picks` picked rows, the sampler stops at its current point.

    Theorem. Let ρ = η′/η be `ratio`, and for a rate t > 0 let w = (e^t − 1)·L/(2a), b(z) = (η/4)·(ρz + √(ρ²z² + 4ρ(d +
    λΘ)))², p(z) = exp(−L·(a + √b)²/(2a)), m(z) = exp(w·(a + √b)²/(1 − 2wη′))/√(1 − 2wη′) and M(z) = p/(1 − m + p),
    where 2wη′ < 1 and m < 1 + p. From any point x₀ of 𝒳 the number N of picks in a step with noise of length ‖Z‖ ≤ z
    has E e^{tN} ≤ M(z). So T steps pick more than (T·log E M(‖Z‖) + log(2/σ))/t rows with probability at most σ, where
    the mean is over ‖Z‖ ≤ z₀ with P(‖Z‖ > z₀) ≤ σ/(2T).

    Proof, in the notation of `QuerySampler` and with E for the mean under a proposal, of exponent g around y′.

    1. 𝒳 is convex and contains x₀, so the field (x − x₀)·e^−g flows out of it. As ⟨∇r(x), x − x₀⟩ ≥ r(x) − r(x₀), this
       gives d ≥ E⟨∇g, x − x₀⟩ ≥ E(s² − ⟨y′ − x₀, x − x₀⟩)/η′ − λΘ. With ‖y′ − x₀‖ = ρ·√η·‖Z‖ this is a quadratic
       inequality for √(E s²), and it gives E s² ≤ b.
    2. A trial is accepted with probability at least e^{−E ΣD_i} ≥ e^{−E c} ≥ p (Jensen).
    3. The proposal is 1/η′-strongly log-concave and s is 1-Lipschitz, so s − E s is η′-sub-Gaussian (Ledoux 1999;
       Bobkov and Ledoux 2000). For X = a + s, e^{wX²} is the mean of e^{√(2w)·gX} over g ∼ N(0, 1), so E e^{wX²} ≤ m.
       Given x, the picks are Poisson of mean c at most, so a trial's picks have E e^{tN} ≤ E e^{wX²} ≤ m.
    4. Split this moment into A, of accepted trials, and C, of rejected ones: A ≥ p, A + C ≤ m. The moment of a step is
       A/(1 − C) ≤ (m − C)/(1 − C) ≤ p/(1 − m + p), as the middle term increases in C ≤ m − p for m ≥ 1. This holds for
       any x₀, so the moments of steps multiply, and Markov's inequality gives the claim.
    """

    step: float
    scale: float
    lipschitz: float
    dimension: int
    spread: float

    @classmethod
    def least(cls, lipschitz: float, dimension: int, spread: float) -> "QueryPlan":
        """Return η and a with acceptance probability about e^{−1}."""
        reach = (math.sqrt(dimension) + math.sqrt(5 * dimension + 4 * spread)) / 2
        root = 1 / (2 * lipschitz * reach)
        return cls(root * root, root * reach, lipschitz, dimension, spread)

    @property
    def ratio(self) -> float:
        """η′/η of the proposals: 1/(1 − ηL/a)."""
        return 1 / (1 - self.step * self.lipschitz / self.scale)

    def log_moment(self, rate: float, length: float) -> float:
        """Return a bound on log E e^{`rate`·picks} of a step with noise up to `length`, ∞ if unknown."""
        noise = self.ratio * length
        move = (
            math.sqrt(self.step) * (noise + math.sqrt(noise**2 + 4 * self.ratio * (self.dimension + self.spread))) / 2
        )
        accepted = math.exp(-self.lipschitz * (self.scale + move) ** 2 / (2 * self.scale))
        weight = math.expm1(rate) * self.lipschitz / (2 * self.scale)
        room = 1 - 2 * weight * self.ratio * self.step
        if room <= 0:
            return math.inf
        log = weight * (self.scale + move) ** 2 / room - math.log(room) / 2
        return -math.log1p(-math.expm1(log) / accepted) if math.expm1(log) < accepted else math.inf

    def picks(self, steps: int, total_variation: float) -> int:
        """Return picks that `steps` steps exceed with at most this probability."""
        law = scipy.stats.chi(self.dimension)
        longest = float(law.isf(total_variation / (2 * steps)))
        edges = np.linspace(0, longest, 400 + 1)[1:]  # bins
        chances = np.diff(law.cdf(edges), prepend=0.0)
        best = math.inf
        for rate in np.geomspace(1e-4, 0.3, 30):
            moments = np.array([self.log_moment(float(rate), float(edge)) for edge in edges])
            if np.isfinite(moments).all():
                mean = math.log(float((chances * np.exp(moments)).sum()) * (1 + 1e-9))
                best = min(best, (steps * mean + math.log(2 / total_variation)) / rate)
        return math.ceil(best)


@dataclass(frozen=True, eq=False)
class QuerySampler:
    """Sampler of ∝ e^{−κ·Σ_i f_i − r} by values f_i(x) only.

    Hypotheses, which the supplier proves: f_i is G-Lipschitz in ℓ₂ on the convex set, L = κnG of the `plan`; `oracle`
    is exact for r. A step: y = x₀ + √η·N(0, I); a proposal x is a draw of the oracle for precision 1/η − L/a; with s =
    ‖x − x₀‖, D_i = κ·(f_i(x) − f_i(x₀)) + (L/n)·(a² + s²)/(2a) lies in [0, c/n], c = L·(a + s)²/(2a), and x is accepted
    with probability e^{−Σ D_i}: a Poisson clock of mean c picks rows, and a picked row rejects with probability
    n·D_i/c, so that rejections form a Poisson process of mean Σ D_i. With 1/η′ = 1/η − L/a and y′ = x₀ + η′·Z/√η for
    the normal Z of y, this draws from the step's density, because −‖x − y‖²/(2η) + L·(a² + s²)/(2a) is −‖x − y′‖²/(2η′)
    and a constant. D_i ≥ 0 as (a² + s²)/(2a) ≥ s and |f_i(x) − f_i(x₀)| ≤ Ls/(κn).
    """

    values: Callable[[np.ndarray, np.ndarray], np.ndarray]
    rate: float
    n_rows: int
    plan: QueryPlan
    oracle: Oracle
    picks: int
    queries: Queries = field(default_factory=Queries)

    def draw(self, start: np.ndarray, steps: int, rng: Entropy, progress: Progress = lambda _: None) -> np.ndarray:
        """Return a point after `steps` steps from `start` in the set."""
        point, left = start, self.picks
        for t in range(steps):
            point, left = self._move(point, left, rng)
            if left < 0:
                break
            progress((t + 1) / steps)
        return point

    def _move(self, point: np.ndarray, left: int, rng: Entropy) -> tuple[np.ndarray, int]:
        """Return the next point and the remaining picks, or the same point and −1."""
        ratio, step = self.plan.ratio, self.plan.step
        place = point + ratio * math.sqrt(step) * normals(len(point), rng)
        law = self.oracle.around(place[None], ratio * step)
        while True:
            proposal = law.draw(np.zeros(1, dtype=np.intp), rng)[0]
            is_kept, left = self._is_kept(point, proposal, left, rng)
            if left < 0:
                return point, left
            if is_kept:
                return proposal, left

    def _is_kept(self, point: np.ndarray, proposal: np.ndarray, left: int, rng: Entropy) -> tuple[bool, int]:
        scale, far = self.plan.scale, float(np.linalg.norm(proposal - point))
        mean = self.plan.lipschitz * (scale + far) ** 2 / (2 * scale)
        floor = self.plan.lipschitz * (scale**2 + far**2) / (2 * scale)
        time = float(exponentials(1, rng)[0])
        while time < mean:
            left -= 1
            if left < 0:
                return False, left
            row = uniform_below(np.array([self.n_rows], dtype=np.uint64), rng)
            values = self.values(np.stack([proposal, point]), np.repeat(row, 2))
            self.queries.total += 2
            change = self.rate * self.n_rows * float(values[0] - values[1])
            if float(uniforms(1, rng)[0]) * mean < change + floor:
                return False, left
            time += float(exponentials(1, rng)[0])
        return True, left
