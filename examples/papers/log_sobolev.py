"""Does the log-Sobolev inequality prove privacy of the exponential mechanism on the sphere? Not enough to concentrate.

Theorem. Let W = −β·xᵀAx, S = λ_max − λ_min, and let the law satisfy the log-Sobolev inequality with constant 1/ρ. With
k = 2β²Δ²/ρ < ε, P(loss ≥ ε) ≤ exp(−(ε − k)²/(4k)). ρ may be the largest of ρ_1 = d − 2 − 2βS, of the supremum ρ_2 over
t > 0 of (d − 1 + t)/(d − 2 + t)·(ρ_1 − (βS)²/t), and of ρ_3 = (d − 1)·e^{−βS}.

Proof. The loss is Lipschitz with constant 2βΔ, and its mean, a Kullback-Leibler divergence, at most k. For ρ_1, Ric =
d − 2 and Hess W(u, u) = −2β(uᵀAu − xᵀAx) ≥ −2βS for a unit tangent u (Bakry and Émery). For ρ_2, |∇W| ≤ βS, since
‖Ax − (xᵀAx)x‖² is a variance of eigenvalues, at most S²/4 (Bakry, Gentil and Ledoux 2014, chapter 5.7). For ρ_3, W
varies by at most βS, and the uniform law has d − 1 (Holley and Stroock 1987).

The law concentrates from β·gap ≈ d/2 on, which ρ_1 and ρ_2 never reach, as gap ≤ S: no number of rows and no δ helps.
ρ_3 is positive for every β, and reaches it for d up to about 4·log n.

    python -m examples.papers.log_sobolev
"""

import itertools
import math
from dataclasses import dataclass

from gaugedp._internal.bisection import bisected


@dataclass(frozen=True)
class LogSobolev:
    """The β of the density ∝ e^{β·xᵀAx} on the sphere of ℝ^d that the log-Sobolev inequality proves (ε, δ)-DP.

    `spread` bounds λ_max − λ_min of A for every table, by public knowledge (n where rows have norm at most 1);
    `sensitivity` is Δ in the operator norm; d ≥ 3.

    The law satisfies the inequality with the constant 1/ρ for the largest ρ of three, by the curvature (Bakry and
    Émery), by it and the dimension, or beside the uniform law (Holley and Stroock). Where ρ > 0 the loss is
    sub-Gaussian: P(loss ≥ ε) ≤ exp(−(ε − k)²/(4k)), k = 2β²Δ²/ρ, as above; the source's W has the
    other sign, and λ_max for the spread.
    """

    n_columns: int
    spread: float
    epsilon: float
    delta: float
    sensitivity: float = 1.0

    @property
    def ceiling(self) -> float:
        """(d − 2)/(4·spread): up to it the curvature is (d − 2)/2. No δ and no number of rows lifts it."""
        return (self.n_columns - 2) / (4 * self.spread)

    def curvature(self, beta: float) -> float:
        """Return d − 2 − 2β·spread ≤ Ric + Hess W for W = −β·xᵀAx; it says nothing where it is not above 0."""
        return self.n_columns - 2 - 2 * beta * self.spread

    def with_dimension(self, beta: float) -> float:
        """Return the largest (curvature − (β·spread)²/t)·(t + d − 1)/(t + d − 2) over t > 0: curvature at t = ∞.

        CD(ρ, m) for m = t + d − 1, as |∇W| ≤ β·spread. It is the larger where (β·spread)² < curvature.
        """
        width, d = beta * self.spread, self.n_columns
        room = self.curvature(beta) - width**2
        if room <= 0:
            return self.curvature(beta)
        ahead = width * (d - 1)
        t = width * (ahead + math.sqrt(ahead**2 + room * (d - 1) * (d - 2))) / room
        return (self.curvature(beta) - (width**2 / t if t else 0.0)) * (t + d - 1) / (t + d - 2)

    def beside_uniform(self, beta: float) -> float:
        """Return (d − 1)·e^{−β·spread}: the uniform law's d − 1, and densities that are e^{β·spread} apart at most."""
        return (self.n_columns - 1) * math.exp(-beta * self.spread)

    def rho(self, beta: float) -> float:
        """Return the largest ρ of the three."""
        return max(self.with_dimension(beta), self.beside_uniform(beta))

    def delta_at(self, beta: float) -> float:
        """Return the bound on P(loss ≥ ε), a δ that β keeps; 1 where nothing is proved."""
        rho = self.rho(beta)
        divergence = 2 * (beta * self.sensitivity) ** 2 / rho if rho else math.inf
        if divergence >= self.epsilon:
            return 1.0
        return math.exp(-((self.epsilon - divergence) ** 2) / (4 * divergence))

    @property
    def printed(self) -> float:
        """min(`ceiling`, √(ρ/2)·ε/(4·√log(1/δ)·Δ)) at ρ = (d − 2)/2, as printed; NaN where log(1/δ) < ε/8.

        The source asks for ε, δ ≤ 1; its proof needs log(1/δ) ≥ ε/8.
        """
        log = -math.log(self.delta)
        if log < self.epsilon / 8:
            return math.nan
        rho = (self.n_columns - 2) / 2
        return min(self.ceiling, math.sqrt(rho / 2) * self.epsilon / (4 * math.sqrt(log) * self.sensitivity))

    @property
    def best(self) -> float:
        """The largest β that the method proves, rounded down: `delta_at` is δ there, and 2β²Δ²/ρ = κ²."""
        most = self._kappa * math.sqrt(self.n_columns - 1) / (math.sqrt(2) * self.sensitivity)  # ρ ≤ d − 1

        def keeps(beta: float) -> bool:
            return 2 * (beta * self.sensitivity) ** 2 <= self._kappa**2 * self.rho(beta)

        return bisected(self.by_curvature * (1 - 1e-12), most, keeps)[0]

    @property
    def _kappa(self) -> float:
        """√(log(1/δ) + ε) − √log(1/δ)."""
        log = -math.log(self.delta)
        return self.epsilon / (math.sqrt(log + self.epsilon) + math.sqrt(log))

    @property
    def by_curvature(self) -> float:
        """The largest β that the curvature alone proves, a root of 2β²Δ²/ρ = κ². Below (d − 2)/(2·spread)."""
        kappa = self._kappa
        half, free = self.spread * kappa**2, kappa**2 * (self.n_columns - 2)
        root = math.sqrt(half**2 + 2 * self.sensitivity**2 * free)
        return free / (half + root)

    @property
    def pure(self) -> float:
        """ε/(2Δ): what the exponential mechanism proves, with δ = 0 and no ceiling."""
        return self.epsilon / (2 * self.sensitivity)

    @property
    def threshold(self) -> float:
        """d/(2·spread): below it the law is nearly uniform, whatever A is: gaps are at most the spread."""
        return self.n_columns / (2 * self.spread)

    def accuracy(self, gamma: float, beta: float, largest: float) -> float:
        """Return the bound on the mean of xᵀAx that the source proves for λ_max = `largest`, A ⪰ 0 (theorem 3.1.3).

        largest·(1 − 2γ)·(1 − exp(½(d − 1)·log(4/γ) − β·largest·γ)), 0 < γ < 1; 0 where that is below 0 or γ ≥ ½. For
        β up to `ceiling` it is 0 for every γ where `largest` is at most the spread.
        """
        exponent = (self.n_columns - 1) / 2 * math.log(4 / gamma) - beta * largest * gamma
        return largest * max(0.0, 1 - 2 * gamma) * max(0.0, -math.expm1(min(exponent, 1.0)))


def main() -> None:
    """Print the largest β by each way, times the number of rows, next to where the law begins to concentrate."""
    for d, n in itertools.product((3, 10, 50), (10**3, 10**7)):
        one = LogSobolev(d, n, 1.0, 1e-6)
        ways = {"curvature": one.by_curvature, "best": one.best, "pure": one.pure, "concentrates": one.threshold}
        print(f"d = {d}, n = {n:.0e}:", ", ".join(f"{name} {beta * n:.3g}" for name, beta in ways.items()))


if __name__ == "__main__":
    main()
