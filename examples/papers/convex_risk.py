"""Risk bounds of the regularized exponential mechanism for convex optimisation in a norm: ours and the printed ones.

python -m examples.papers.convex_risk
"""

import math
from dataclasses import dataclass

from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization.geometry import Geometry


@dataclass(frozen=True)
class ConvexRisk:
    """An upper bound `value` on the mean of F(w) − min F over a ball: at most `statistical` + `privacy`.

    `statistical` is what independent rows cost where F is the mean loss of their population, else 0. `printed` is what
    Gopi and others (2023, corollaries 2 to 5) print for the same ball, of diameter 2·radius; it is no bound, as their
    mechanism is not as private as they say (docs/theory/gibbs.md); NaN where they print a quotient by 0.
    """

    value: float
    statistical: float
    privacy: float
    printed: float

    def __float__(self) -> float:
        return self.value


def convex_risk(  # noqa: PLR0913 - public numbers
    geometry: Geometry,
    n_rows: int,
    epsilon: float,
    delta: float,
    *,
    lipschitz: float = 1.0,
    purpose: str = "erm",
    neighbours: str = "replace",
) -> ConvexRisk:
    """Return the bound for convex losses, `lipschitz`-Lipschitz in the geometry's norm, under (ε, δ)-DP.

    With Θ the regulariser's range, d the number of weights, μ the Gaussian parameter of (ε, δ), c = 2 (1 where rows are
    added or removed): "erm", the mean loss of the rows, 2cG·√(dΘ)/(nμ); "sco", that of their population,
    2cG·√(Θ·(d + 2nμ²/c²))/(nμ) ≤ 2G·√(2Θ/n) + 2cG·√(dΘ)/(nμ). What a sampler adds is left out.
    """
    factor, mu = 2 if neighbours == "replace" else 1, gaussian_mu(epsilon, delta)
    scale = lipschitz * math.sqrt(geometry.range)
    privacy = 2 * factor * scale * math.sqrt(geometry.ambient_dim) / (n_rows * mu)
    statistical = 2 * scale * math.sqrt(2 / n_rows) if purpose == "sco" else 0.0
    printed = _printed(geometry, n_rows, (epsilon, delta), purpose) * lipschitz
    return ConvexRisk(math.hypot(statistical, privacy), statistical, privacy, printed)


def _printed(geometry: Geometry, n_rows: int, guarantee: tuple[float, float], purpose: str) -> float:
    """Return 2D·h·(1/√n + √(d·log(1/2δ))/(nε)), h by p; the first term for "sco" alone."""
    epsilon, delta = guarantee
    statistical = 1 / math.sqrt(n_rows) if purpose == "sco" else 0.0
    privacy = math.sqrt(geometry.ambient_dim * max(0.0, -math.log(2 * delta))) / (n_rows * epsilon)
    height = 4 * geometry.radius * _height(geometry)
    return height * (statistical + privacy)


def _height(geometry: Geometry) -> float:
    n_values, p = geometry.n_values, geometry.p
    if p == 1:
        return 3 * math.sqrt(math.log(n_values)) if len(geometry.shape) == 1 else math.nan
    return n_values ** (1 / 2 - 1 / p) if p >= 2 else 1 / math.sqrt(p - 1)


def main() -> None:
    """Print both for 100 weights in balls of the p-norms, 10⁵ rows, ε = 1 and δ = 10⁻⁶."""
    for p in (1, 1.5, 2, 4):
        risk = convex_risk(Geometry((100,), p), 10**5, 1.0, 1e-6)
        print(f"p = {p}: {risk.value:.3g}, printed {risk.printed:.3g}")


if __name__ == "__main__":
    main()
