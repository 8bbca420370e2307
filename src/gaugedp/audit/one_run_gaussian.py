"""Lower bounds on μ from guesses about canaries, for Gaussian curves.

docs/theory/audit.md, theorems 4 and 5
"""

import numpy as np
import scipy

from gaugedp.audit.clopper_pearson import lower_share

_TRIED = 33  # values of μ at a time
_MU_ROUNDING = 1e-6  # of μ: each step of the recursion falls by more than its rounding, 1e-12, and it is monotone


def least_mass(mu: np.ndarray, n_canaries: int, guessed: int, correct: int, probability: float) -> np.ndarray:
    """Return the least total probability if P(`correct` or more) is `probability`.

    Above 1, μ-GDP contradicts it. Theorem 4: with t_j = P(j or more right guesses) and g(x) = Φ(Φ⁻¹(x) − μ),
    (k − j + 1)·t_{j−1} ≥ m·g((j·t_j + t_{j+1} + …)/m) + t_j + t_{j+1} + … (Mahloujifar, Melis and Chaudhuri 2025).
    """
    mass = np.full(np.shape(mu), float(probability))
    above = np.zeros_like(mass)  # t_{j+1} + t_{j+2} + …
    for j in range(correct, 0, -1):
        right = np.minimum((j * mass + above) / n_canaries, 1.0)
        above = above + mass
        wrong = scipy.special.ndtr(scipy.special.ndtri(right) - mu)
        mass = np.maximum(mass, (n_canaries * wrong + above) / (guessed - j + 1))
        if (mass > 2).all():
            break
    return mass


def mu_by_curve(n_canaries: int, guessed: int, correct: int, miss: float) -> float:
    """Return a lower confidence bound on μ of any μ-GDP mechanism."""
    low, high = 0.0, 40.0  # P(N(0, 1) > 40) is below 1e-349: no counts show more
    for _ in range(6):  # 40/32^6 is below 1e-7
        tried = np.linspace(low, high, _TRIED)
        refuted = int((least_mass(tried, n_canaries, guessed, correct, miss) > 1).sum())
        if refuted == 0:
            return 0.0
        low, high = float(tried[refuted - 1]), float(tried[min(refuted, _TRIED - 1)])
    return low * (1 - _MU_ROUNDING)


def mu_by_independence(n_canaries: int, guessed: int, correct: int, miss: float) -> float:
    """Return a lower confidence bound on μ if the guesses are independent.

    Theorem 5: Φ⁻¹(s·k/m) − Φ⁻¹((1 − s)·k/m) for the bound s of Clopper and Pearson on the mean share of right guesses.
    """
    share, rate = lower_share(correct, guessed, min(miss, 0.25)), guessed / n_canaries
    if share <= 0.5:
        return 0.0
    right, wrong = scipy.special.ndtri([share * rate, (1 - share) * rate])
    return float(right - wrong) * (1 - _MU_ROUNDING)
