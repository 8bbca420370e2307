"""Error terms of stochastic Frank–Wolfe on the nuclear ball, and the rate conjectured for it.

python -m examples.papers.nuclear_ball

The method is that of docs/theory/stochastic_frank_wolfe.md, with its a, η, X_t, D_t and n_0.

Lemma (after corollary 2.3.1 and (2.14) of the thesis). If ⟨D_t, V_t⟩ ≤ min ⟨D_t, Y⟩ + α, then F(X_{m+1}) − F* ≤
a^{m+1}(F(0) − F*) + 4η·Σ_t a^{m−t}‖∇F(X_t) − D_t‖ + 2L₁η + α: iterate f(X_{t+1}) ≤ f(X_t) + η⟨∇F, V_t − X_t⟩ + 2L₁η².

Theorem (for X_t, X* ⪰ 0 of trace at most 1). In the lemma 4·‖∇F(X_t) − D_t‖ may be replaced by λ_max(E_t)⁺ +
λ_max(−E_t)⁺, E_t = D_t − ∇F(X_t). If ‖E A²‖ ≤ v, |φ′| ≤ L₀, φ′ is L₁-Lipschitz, γ = 2L₁ + L₀ and ℓ = log(d + 1), each
of the two has a mean of at most a^t·b(L₀²v/n_0, 2L₀/n_0) + b(η²γ²v/(1 − a²), 2ηγ), where b(σ², R) = √(2σ²ℓ) + Rℓ/3.

Proof.

1. ⟨∇F − D_t, V_t − X*⟩ = ⟨−E_t, V_t⟩ + ⟨E_t, X*⟩, and ⟨S, V⟩ ≤ λ_max(S)⁺ for V ⪰ 0 of trace at most 1.
2. E_t = a·E_{t−1} + ξ_t with ξ_t = g_t − E[g_t | past], as E[g_t | past] = ∇F(X_t) − a·∇F(X_{t−1}). So E_t = a^t·E_0 +
   Σ_{s ≤ t} a^{t−s}·ξ_s, a martingale.
3. g_s = w·A with |w| ≤ ηγ by lemma 1 of the page, so E[ξ_s² | past] ⪯ E[w²A² | past] ⪯ η²γ²v·I and ‖ξ_s‖ ≤ 2ηγ. The
   means of the squares add up to at most η²γ²v/(1 − a²). E_0 is a mean of n_0 such terms with L₀ for ηγ.
4. For a martingale Y of this kind E tr exp(θY) ≤ d·exp(σ²(e^{θR} − θR − 1)/R²) (Tropp 2011), so E λ_max(Y)⁺ ≤ b, with
   d + 1 for the positive part, and P(λ_max(Y) ≥ x) ≤ d·exp(−x²/(2σ² + 2Rx/3)).
"""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.bounds.minimax import Rate
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization.streams import ToeplitzRoot


@dataclass(frozen=True)
class NuclearRisk:
    """An upper bound on F(X) − min F over {X ⪰ 0, tr X ≤ 1}, F the mean loss of the rows' population.

    It is the least of two: that of one pass, the sum of the terms below, and that of X = 0, which reads no row.

    start : what is left of X_0 = 0.
    batch : D_0 is the gradient of half of the rows.
    stream : later rows change it one at a time.
    confidence : what a bound with probability 1 − failure adds to one of the mean, as published; otherwise 0.
    curvature : a step goes along a tangent.
    privacy : the extreme points are those of gradients with noise.
    trivial : F(0) − min F ≤ L₀·‖X‖_* ≤ L₀.
    """

    start: float
    batch: float
    stream: float
    confidence: float
    curvature: float
    privacy: float
    trivial: float = math.inf

    @property
    def value(self) -> float:
        """The least bound."""
        return min(self.one_pass, self.trivial)

    @property
    def method(self) -> str:
        """Return the method with the least bound: "one pass", or "X = 0"."""
        return "one pass" if self.one_pass < self.trivial else "X = 0"

    @property
    def one_pass(self) -> float:
        """The sum of all terms."""
        return self.statistical + self.privacy

    @property
    def statistical(self) -> float:
        """The sum of all but `privacy`: of order log n·√(log d)/√n."""
        return self.start + self.batch + self.stream + self.confidence + self.curvature

    def __float__(self) -> float:
        return self.value


def nuclear_risk(  # noqa: PLR0913 - public numbers
    n_rows: int,
    n_columns: int,
    epsilon: float,
    delta: float,
    *,
    lipschitz: float = 1.0,
    smoothness: float = 1.0,
    failure: float | None = None,
    spread: float | None = 1.0,
) -> NuclearRisk:
    """Return the least bound for rows that are drawn independently, gradients of rank one, and replaced rows.

    Hypotheses: losses convex, `lipschitz` = L₀ in the nuclear norm and `smoothness` = L₁ from it to the operator
    norm (where `spread` is below 1, of φ′ and its derivative), matrices (d, d), n ≥ 3. The mean where `failure` is
    None, else with probability 1 − failure.

    With `spread` ≥ λ_max(E A²) for gradients φ′·A, ‖A‖ ≤ 1 (1 for any rows, 1/d for zzᵀ with z uniform on the sphere):
    the theorem of this module. With spread=None: corollary 2.3.1 of the thesis with X_0 = 0 (L₀ for 2L₀), its batch
    term times (1 + 2/n)·e^{η/2}, which it drops.

    For the α that the corollary leaves open: 2·E‖noise‖, where a step's noise has deviation s = σ·row for σ of
    `StochasticFrankWolfe`, Δ_0 = 4L₀/n, Δ = 2η(2L₁ + L₀), one row a slot, and E λ_max ≤ s·√(2d).
    """
    log, steep = math.log(n_rows), 2 * smoothness + lipschitz
    running = ToeplitzRoot(1 + n_rows // 2, 1 - log / n_rows)
    sensitivities = 4 * lipschitz / n_rows, 2 * log / n_rows * steep
    std = float(np.multiply(sensitivities, running.columns).max()) * running.row / gaussian_mu(epsilon, delta)
    privacy = std * _oracle_loss(n_columns, running.n_steps, failure)
    slopes = lipschitz, steep
    if spread is None:
        batch, stream, confidence = _published(n_rows, n_columns, slopes, failure)
    else:
        (batch, stream), confidence = _by_variance(n_rows, n_columns, slopes, failure, spread), 0.0
    start, curvature = lipschitz / math.sqrt(n_rows), 2 * smoothness * log / n_rows
    return NuclearRisk(start, batch, stream, confidence, curvature, privacy, lipschitz)


def _published(
    n_rows: int, n_columns: int, slopes: tuple[float, float], failure: float | None
) -> tuple[float, float, float]:
    """Return the corollary's batch, stream and confidence."""
    lipschitz, steep = slopes
    root, kappa, log = math.sqrt(n_rows), (2 * math.log(n_columns + 2) - 1) * math.e, math.log(n_rows)
    longer = (1 + 2 / n_rows) * math.exp(log / n_rows / 2)
    batch = 4 * lipschitz * math.sqrt(2 * kappa) * log / n_rows * longer
    later = 16 * steep * math.sqrt(kappa) * log / root
    if failure is None:
        return batch, later, 0.0
    sure = math.sqrt(3 * math.log(2 * n_rows / failure))
    confidence = 4 * lipschitz * math.sqrt(2) * sure * log / n_rows * longer + 8 * steep * sure * log / root
    return batch * math.e, later * math.e / 2, confidence


def _by_variance(
    n_rows: int, n_columns: int, slopes: tuple[float, float], failure: float | None, spread: float
) -> tuple[float, float]:
    """Return η·Σ(1 − η)^{m−t} times the theorem's bounds on both parts of λ_max(E_t)⁺ + λ_max(−E_t)⁺.

    E_0 has (σ², R) = L₀²·(spread, 2)/n₀ without the square, later steps η²γ²·spread·Σ(1 − η)^{2k} and 2ηγ.
    """
    rate, first, later = math.log(n_rows) / n_rows, n_rows - n_rows // 2, n_rows // 2
    logs = math.log(n_columns + 1) if failure is None else math.log(4 * n_columns * (later + 1) / failure)

    def width(variance: float, largest: float) -> float:
        if failure is None:
            return 2 * (math.sqrt(2 * variance * logs) + largest * logs / 3)
        return 2 * (math.sqrt(2 * variance * logs + (largest * logs / 3) ** 2) + largest * logs / 3)

    lipschitz, steep = slopes
    decay = 1 - rate
    batch = width(lipschitz**2 * spread / first, 2 * lipschitz / first) * rate * (later + 1) * decay**later
    longest = (rate * steep) ** 2 * spread / (1 - decay**2)
    return batch, width(longest, 2 * rate * steep) * (1 - decay ** (later + 1))


def conjectured_rate(n_rows: int, n_columns: int, epsilon: float) -> Rate:
    """Return 1/√n + √d/(εn), which the thesis conjectures for the nuclear ball.

    For gradients of rank one it is reached up to logarithms (`nuclear_risk`); for gradients that
    are bounded in the operator norm alone it is open.
    """
    privacy = math.sqrt(n_columns) / (epsilon * n_rows)
    logs = math.log(max(n_rows, 3)) ** 2
    return Rate.of(1 / math.sqrt(n_rows), privacy, (1 / math.sqrt(n_rows) + privacy) * logs, n_rows)


def oja_privacy(n_rows: int, n_columns: int, epsilon: float, delta: float, steepness: float = 3.0) -> float:
    """Return the privacy term of theorem 3.2.2: every D_t through Oja's method, composed by advanced composition.

    16·(2L₁ + L₀)·log(1/δ₀)·√log(1.25/δ₀)·log n·√(d(n + 2))/(nε), δ₀ = δ/(n(T + 1)) and T = ⌈√(n/d)⌉ steps each,
    `steepness` = 2L₁ + L₀. Falls as 1/√n. The constant that the theorem hides is taken as 1: a rate, no bound. Printed
    is log(1.25/δ)·log(1/δ), by a σ without its root, and n for n + 2 compositions.
    """
    n_inner = math.ceil(math.sqrt(n_rows / n_columns))
    delta_each = delta / (n_rows * (n_inner + 1))
    logs = math.log(1 / delta_each) * math.sqrt(math.log(1.25 / delta_each)) * math.log(n_rows)
    return 16 * steepness * logs * math.sqrt(n_columns * (n_rows + 2)) / (n_rows * epsilon)


def _oracle_loss(n_columns: int, n_steps: int, failure: float | None) -> float:
    """Return a bound on λ_max⁺ + (−λ_min)⁺ of noise of deviation 1: in the mean, or at all steps at once.

    E λ_max⁺ ≤ E λ_max + E(tr/d)⁻ ≤ √(2d) + 1/√(2πd) (Sudakov and Fernique), and λ_max is 1-Lipschitz.
    """
    mean = math.sqrt(2 * n_columns) + 1 / math.sqrt(2 * math.pi * n_columns)
    if failure is None:
        return 2 * mean
    return 2 * (mean + math.sqrt(2 * math.log(4 * n_steps / failure)))


def main() -> None:
    """Print the bound, its privacy term and the conjectured rate at ε = 1, δ = 10⁻⁶ and 20 columns."""
    for n in (10**4, 10**6, 10**8):
        risk, rate = nuclear_risk(n, 20, 1.0, 1e-6), conjectured_rate(n, 20, 1.0).value
        print(f"n = {n:.0e}: {risk.value:.3g} by {risk.method}, privacy {risk.privacy:.3g}, conjectured {rate:.3g}")


if __name__ == "__main__":
    main()
