"""Lower bounds on μ from guesses about canaries, for Gaussian curves.

Theorem 4 is that of docs/theory/audit.md. Its proof, in the notation of that page:

1. One coin. Fix all coins but the i-th. Let B be the set of releases on which coin i is guessed 1 and at least j − 1 of
   the other guesses are right. On B the number of right guesses is at least j if the coin is 1, and at least j − 1 if
   it is 0. So P(i guessed 1 and right, C ≥ j | coin 1) ≤ G(P(i guessed 1 and wrong, C ≥ j − 1 | coin 0)), and likewise
   with 0 and 1 exchanged. As G is concave, the average over the coins gives P(i right, C ≥ j) ≤ G(P(i wrong, C ≥ j −
   1)).
2. All coins. The average over i, where a coin that is not guessed is neither right nor wrong, is R_j ≤ G(W_{j−1}) with
   R_j = E[C; C ≥ j]/m and W_j = E[k − C; C ≥ j]/m.
3. Tails. Let T_j = P(C ≥ j). Then m·R_j = j·T_j + Σ_{c>j} T_c and m·W_{j−1} = k·T_{j−1} − m·R_{j−1} = (k − j +
   1)·T_{j−1} − Σ_{c≥j} T_c. So by step 2 the T_j satisfy the recursion of the theorem, with ≥ in place of =. Also
   T_{j−1} ≥ T_j.
4. Monotonicity. The right side increases with each of T_j, T_{j+1}, …. T_v = τ = t_v and T_c ≥ 0 = t_c above, so T_j ≥
   t_j for all j by induction, and 1 = T_0 ≥ t_0. By the same induction, every t_j with j ≤ v increases with τ. So P(C ≥
   v) ≥ 1 − confidence would give t_0 at least its value at τ = 1 − confidence, and t_0 ≤ 1.
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

    Theorem 5: Φ⁻¹(s·k/m) − Φ⁻¹((1 − s)·k/m) for the bound s ≥ ½ of Clopper and Pearson on the mean share of right
    guesses, with a miss of at most ¼.

    Proof, with G(x) = Φ(Φ⁻¹(x) + μ). (1) Let p be the mean of the k probabilities. Step 2 of theorem 4 with all
    releases for C ≥ j is p·k/m ≤ G((1 − p)·k/m), so the bound with p for s is at most μ. It increases with s, and is 0
    at ½. So it fails only if s > q = max(p, ½). (2) s increases with the count C. Let c be the least count with s > q;
    then P(Binomial(k, q) ≥ c) ≤ miss ≤ ¼. A binomial with k·q > 1 reaches its mean with a probability above ¼
    (Greenberg and Mohri 2014). If k·q ≤ 1, then k = 1, or k = 2 and q = ½, and this probability is at least ½. So c >
    ⌈k·q⌉, hence c ≥ k·q + 1. (3) Raise the probabilities until their mean is q. Then P(C ≥ c) does not fall, and for c
    ≥ k·q + 1 it is at most P(Binomial(k, q) ≥ c) (Hoeffding 1956, theorem 4), hence at most the miss.
    """
    share, rate = lower_share(correct, guessed, min(miss, 0.25)), guessed / n_canaries
    if share <= 0.5:
        return 0.0
    right, wrong = scipy.special.ndtri([share * rate, (1 - share) * rate])
    return float(right - wrong) * (1 - _MU_ROUNDING)
