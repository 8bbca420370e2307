"""References of 50 digits for random cases: what each bound of the library must not be below.

A case is (upper, lower or None, truth): numbers of the library, and the number itself from its definition.
"""

import math
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any, NamedTuple

import mpmath
import numpy as np
import scipy
from mpmath import mpf

import gaugedp as gd

G = gd.guarantees
Random = np.random.Generator


class Case(NamedTuple):
    """An upper bound, a lower one where there is one, and the truth."""

    high: float
    low: float | None
    truth: Any


def tail(x: Any) -> Any:
    """Return P(Z > x)."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def of_bound(bound: Any, truth: Any) -> Case:
    return Case(float(bound), bound.low or None, truth)


# -- part 1: Rényi bounds --------------------------------------------------------------------------


def renyi_case(rng: Random) -> Case | None:
    """δ(ε) of one or two Rényi bounds, or δ at the ε(δ) that is said: the most that two coins show."""
    orders = sorted(1 + 10 ** rng.uniform(-0.7, 1.5, int(rng.integers(1, 3))))
    values = np.sort(10 ** rng.uniform(-2.5, 0.3, len(orders))).tolist()
    bounds = gd.RenyiDP(orders, values)
    if rng.random() < 0.5:
        epsilon = float(10 ** rng.uniform(-1, 0.7))
        said = float(bounds.delta(epsilon))
    else:
        said = float(10 ** rng.uniform(-8, -1))
        epsilon = float(bounds.epsilon(said))
    truth = most_shown(orders, values, epsilon) if 0 < epsilon < 30 and said > 1e-12 else None
    return None if truth is None else Case(said, None, truth)


def most_shown(orders: list[float], values: list[float], epsilon: float) -> Any:
    """Return the largest p − e^ε·q of coins that keep the bounds, by Newton's method from a search in floats.

    At the largest one bound is met and its gradient is that of p − e^ε·q, or two bounds are met. None where Newton's
    method does not converge to coins that keep all bounds.
    """
    p, q = about(np.array(orders), np.array(values), epsilon)
    growth = mpmath.exp(mpf(epsilon))
    pairs = [(mpf(a), mpf(value)) for a, value in zip(orders, values, strict=True)]
    edges = [edge(a, value, swapped) for a, value in pairs for swapped in (False, True)]
    near = sorted(edges, key=lambda each: abs(each(mpf(p), mpf(q))[0]))
    results = [solved([near[0], turned(near[0], growth)], p, q)]
    results += [solved([near[0], other], p, q) for other in near[1:2]]
    kept = [x - growth * y for x, y in filter(None, results) if all(each(x, y)[0] <= mpf(10) ** -40 for each in edges)]
    return max(kept, default=None)


def about(orders: Any, values: Any, epsilon: float) -> tuple[float, float]:
    """Return coins near the largest p − e^ε·q, from a grid of q and halvings of p, in floats."""
    low, high = -40.0, -1e-9
    for _ in range(5):
        log_q = np.linspace(low, high, 40)
        inside, outside = log_q, np.zeros_like(log_q)
        for _ in range(36):
            log_p = (inside + outside) / 2
            pairs = [(log_p, log_q), (log_q, log_p)]
            kept = [keeps(a, v, *pair) for a, v in zip(orders, values, strict=True) for pair in pairs]
            inside = np.where(np.all(kept, 0), log_p, inside)
            outside = np.where(np.all(kept, 0), outside, log_p)
        best = int(np.argmax(np.exp(inside) - np.exp(epsilon + log_q)))
        low, high = log_q[max(best - 1, 0)], log_q[min(best + 1, 39)]
    return math.exp(inside[best]), math.exp(log_q[best])


def keeps(order: float, value: float, log_p: Any, log_q: Any) -> Any:
    rest = np.log(-np.expm1(log_p)), np.log(-np.expm1(log_q))
    terms = order * log_p + (1 - order) * log_q, order * rest[0] + (1 - order) * rest[1]
    return np.logaddexp(*terms) <= (order - 1) * value


Edge = Callable[[Any, Any], tuple[Any, Any, Any]]


def edge(order: Any, value: Any, swapped: bool) -> Edge:
    """Return (p, q) ↦ log(p^a·q^{1−a} + (1−p)^a·(1−q)^{1−a}) − (a−1)ζ with its gradient, or that of (q, p)."""

    def at(p: Any, q: Any) -> tuple[Any, Any, Any]:
        if swapped:
            p, q = q, p
        ratio, rest = (p / q) ** (order - 1), ((1 - p) / (1 - q)) ** (order - 1)
        by_p = order * (ratio - rest)
        by_q = (1 - order) * (ratio * p / q - rest * (1 - p) / (1 - q))
        grown = p * ratio + (1 - p) * rest
        slopes = (by_q / grown, by_p / grown) if swapped else (by_p / grown, by_q / grown)
        return mpmath.log(grown) - (order - 1) * value, *slopes

    return at


def turned(at: Edge, growth: Any) -> Callable[[Any, Any], tuple[Any]]:
    def both(p: Any, q: Any) -> tuple[Any]:
        _, by_p, by_q = at(p, q)
        return (by_q + growth * by_p,)

    return both


def solved(equations: list[Callable[..., Any]], p: float, q: float) -> tuple[Any, Any] | None:
    """Return where both are 0, by Newton's method with differences, in logarithms of p and q."""
    x, y, step = mpmath.log(mpf(p)), mpmath.log(mpf(q)), mpf(10) ** -30

    def value(u: Any, v: Any) -> list[Any]:
        return [each(mpmath.exp(u), mpmath.exp(v))[0] for each in equations]

    for _ in range(12):
        here, right, up = value(x, y), value(x + step, y), value(x, y + step)
        (a, c), (b, d) = (
            [(first - other) / step for first, other in zip(there, here, strict=True)] for there in (right, up)
        )
        det = a * d - b * c
        if det == 0:
            return None
        move_x, move_y = (here[1] * b - here[0] * d) / det, (here[0] * c - here[1] * a) / det
        x, y = x + move_x, y + move_y
        if not (x < 0 and y < 0 and abs(move_x) + abs(move_y) < 1):
            return None
        if abs(move_x) + abs(move_y) < mpf(10) ** -27:
            return mpmath.exp(x), mpmath.exp(y)
    return None


# -- part 2: samples and groups --------------------------------------------------------------------


def group_case(rng: Random) -> Case | None:
    """A Gaussian release on a Poisson sample, to one to four units."""
    rate, std, size = (
        float(10 ** rng.uniform(-3, -0.05)),
        float(10 ** rng.uniform(-0.4, 0.7)),
        int(rng.integers(1, 5)),
    )
    epsilon = float(rng.uniform(0, 0.7)) * size / std
    truth = group_delta(rate, std, size, epsilon)
    if truth < 1e-12:
        return None
    return of_bound(G.SubsampledGaussian(rate, std).group(size).delta(epsilon), truth)


def group_delta(rate: float, std: float, size: int, epsilon: float) -> Any:
    """Return the profile of Σ Bin(size, rate)(k)·N(k, std²) against N(0, std²), the worst direction.

    δ is flat in the place where the tails begin, so that twice the digits of that place are right.
    """
    s, q = mpf(std), mpf(rate)
    chances = [math.comb(size, k) * q**k * (1 - q) ** (size - k) for k in range(size + 1)]
    logs = np.log([float(chance) for chance in chances])
    means = np.arange(size + 1)

    def log_ratio(x: float) -> float:
        return float(np.logaddexp.reduce(logs + means * (2 * x - means) / (2 * std * std)) - epsilon)

    x = mpf(scipy.optimize.brentq(log_ratio, -60 * std, 60 * std + size, xtol=1e-14))
    for _ in range(2):
        terms = [p * mpmath.exp(k * (2 * x - k) / (2 * s * s)) for k, p in enumerate(chances)]
        ratio = mpmath.fsum(terms)
        slope = mpmath.fsum(k * term for k, term in enumerate(terms)) / (s * s * ratio)
        x -= (mpmath.log(ratio) - mpf(epsilon)) / slope
    tails = [tail((x - k) / s) for k in range(size + 1)]
    return mpmath.fsum(p * each for p, each in zip(chances, tails, strict=True)) - mpmath.exp(mpf(epsilon)) * tails[0]


def sampled_case(rng: Random) -> Case | None:
    """Laplace or Gaussian noise, or randomized response, on a Poisson sample: q·δ(log(1 + (e^ε − 1)/q))."""
    rate, noise = float(10 ** rng.uniform(-3, -0.05)), float(10 ** rng.uniform(-0.5, 0.8))
    kind = int(rng.integers(3))
    make = (G.LaplaceLoss, lambda scale: G.GaussianDP(1 / scale), lambda scale: G.RandomizedResponseLoss(1 / scale))
    epsilon = float(rng.uniform(0, 1)) * rate / noise
    q = mpf(rate)
    inner = mpmath.log(1 + mpmath.expm1(mpf(epsilon)) / q)
    size = mpf(noise) if kind == 0 else mpf(1 / noise)
    truth = q * (
        laplace_delta(1 / size, inner) if kind == 0 else (gaussian_delta, response_delta)[kind - 1](size, inner)
    )
    return of_bound(G.Sampled(make[kind](noise), rate).delta(epsilon), truth) if truth > 1e-12 else None


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    return tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(epsilon / mu + mu / 2)


def laplace_delta(shift: Any, epsilon: Any) -> Any:
    """Return the profile of Laplace laws of scale 1 with centres `shift` apart, at any ε."""
    if epsilon >= shift:
        return mpf(0)
    return -mpmath.expm1(epsilon if epsilon <= -shift else (epsilon - shift) / 2)


def response_delta(loss: Any, epsilon: Any) -> Any:
    return max(mpf(0), (mpmath.exp(loss) - mpmath.exp(epsilon)) / (1 + mpmath.exp(loss)))


def sampled_responses_case(rng: Random) -> Case | None:
    """Two to six randomized responses, each on a sample of its own: a sum over how many tell the truth."""
    rate, loss, count = float(10 ** rng.uniform(-2, -0.05)), float(10 ** rng.uniform(-1, 0.5)), int(rng.integers(2, 7))
    epsilon = float(rng.uniform(0, 0.6)) * count * rate * loss
    q, e = mpf(rate), mpmath.exp(mpf(loss))
    without = e / (1 + e), 1 / (1 + e)
    within = tuple((1 - q) * y + q * x for x, y in zip(without[::-1], without, strict=True))
    truth = max(repeated_delta(p, r, count, epsilon) for p, r in ((within, without), (without, within)))
    if truth < 1e-12:
        return None
    said = (count * G.Sampled(G.RandomizedResponseLoss(loss), rate)).delta(epsilon)
    return Case(float(said), None, truth)  # the lower end is of the pair that dominates, whose points are rounded up


def repeated_delta(p: Any, q: Any, count: int, epsilon: float) -> Any:
    """Return the profile of `count` pairs of coins."""
    growth = mpmath.exp(mpf(epsilon))
    powers = [(math.comb(count, k), k, count - k) for k in range(count + 1)]
    return mpmath.fsum(n * max(0, p[0] ** a * p[1] ** b - growth * q[0] ** a * q[1] ** b) for n, a, b in powers)


# -- part 3: curves --------------------------------------------------------------------------------


def laplace_curve_case(rng: Random) -> Case:
    """D_a of Laplace noise (Mironov 2017, proposition 6), which is that of permute-and-flip."""
    scale, order = float(10 ** rng.uniform(-1, 1.5)), float(1 + 10 ** rng.uniform(-2, 2))
    a, t = mpf(order), 1 / mpf(scale)
    inside = a / (2 * a - 1) * mpmath.exp((a - 1) * t) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * t)
    return Case(G.LaplaceLoss(scale).renyi(order), None, mpmath.log(inside) / (a - 1))


def sampled_curve_case(rng: Random) -> Case:
    """D_a of Gaussian noise on a sample at whole orders: a binomial sum (Mironov, Talwar and Zhang 2019)."""
    rate, std, order = float(10 ** rng.uniform(-4, -0.05)), float(10 ** rng.uniform(-1, 0.7)), int(rng.integers(2, 41))
    q, s = mpf(rate), mpf(std)
    terms = [
        math.comb(order, k) * q**k * (1 - q) ** (order - k) * mpmath.exp(k * (k - 1) / (2 * s * s))
        for k in range(order + 1)
    ]
    return Case(G.SubsampledGaussian(rate, std).renyi(order), None, mpmath.log(mpmath.fsum(terms)) / (order - 1))


def laplace_pair_case(rng: Random) -> Case | None:
    """Two different Laplace releases: the mean of the profile of one at ε less the loss of the other."""
    scales = 10 ** rng.uniform(-0.3, 1.2, 2)
    epsilon = float(rng.uniform(0, 0.9)) * float((1 / scales).sum())
    t, u = (1 / mpf(float(scale)) for scale in scales)
    e = mpf(epsilon)
    ends = sorted({-t, t, *(x for x in (e - u, e + u) if -t < x < t)})

    def piece(low: Any, high: Any) -> Any:
        """∫ ¼·e^{(x−t)/2}·δ(ε − x) dx."""
        middle, grown = e - (low + high) / 2, (mpmath.exp((high - t) / 2) - mpmath.exp((low - t) / 2)) / 2
        if middle >= u:
            return mpf(0)
        if middle <= -u:
            return grown - mpmath.exp(e - t / 2) / 2 * (mpmath.exp(-low / 2) - mpmath.exp(-high / 2))
        return grown - mpmath.exp((e - u - t) / 2) * (high - low) / 4

    atoms = laplace_delta(u, e - t) / 2 + mpmath.exp(-t) / 2 * laplace_delta(u, e + t)
    truth = atoms + mpmath.fsum(piece(*each) for each in pairwise(ends))
    made = G.compose([(G.LaplaceLoss(float(scale)), 1) for scale in scales])
    return of_bound(made.delta(epsilon), truth) if truth > 1e-12 else None


# -- part 4: trade-off functions -------------------------------------------------------------------


def tradeoff_case(rng: Random) -> Case:
    """1 less the false-negative rate, which is an upper bound, of Gaussian and Laplace noise and (ε, δ)."""
    rate, size, kind = float(10 ** rng.uniform(-6, -0.01)), float(10 ** rng.uniform(-1, 0.6)), int(rng.integers(3))
    x, m = mpf(rate), mpf(size)
    if kind == 0:
        truth, said = tail(quantile_above(x) - m), gd.GaussianDP(size).tradeoff(rate)
    elif kind == 1:
        scale = 1 / size
        truth, said = laplace_power(x, 1 / mpf(scale)), G.LaplaceLoss(scale).tradeoff(rate)
    else:
        delta = float(10 ** rng.uniform(-8, -2))
        e, d = mpmath.exp(m), mpf(delta)
        truth, said = min(mpf(1), e * x + d, 1 - (1 - d - x) / e if x + d < 1 else mpf(1)), None
        said = gd.ApproxDP(size, delta).tradeoff(rate)
    return Case(1.0 - said if said > 0.5 else float(1 - mpf(said)), None, truth)


def quantile_above(x: Any) -> Any:
    """Return z with P(Z > z) = x, by Newton's method from a float."""
    z = mpf(float(-scipy.special.ndtri(float(x))))
    for _ in range(3):
        z += (tail(z) - x) * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(z * z / 2)
    return z


def laplace_power(x: Any, t: Any) -> Any:
    """Return the power of the best test of centres t apart (Dong, Roth and Su 2022)."""
    if x <= mpmath.exp(-t) / 2:
        return x * mpmath.exp(t)
    return 1 - mpmath.exp(-t) / (4 * x) if x < mpf(1) / 2 else 1 - (1 - x) * mpmath.exp(-t)


def negative_case(rng: Random) -> Case:
    """δ of Gaussian noise at ε < 0."""
    mu, epsilon = float(10 ** rng.uniform(-1, 0.6)), -float(10 ** rng.uniform(-2, 0.7))
    return of_bound(gd.GaussianDP(mu).delta(epsilon), gaussian_delta(mpf(mu), mpf(epsilon)))


# -- parts 5 and 6: atoms, and selection -----------------------------------------------------------


def atoms_case(rng: Random) -> Case | None:
    """Two or three releases of a law of losses on a lattice."""
    span, n_losses, count = float(10 ** rng.uniform(-2, -0.3)), int(rng.integers(2, 6)), int(rng.integers(2, 4))
    first, chances = int(rng.integers(-3, 1)), rng.dirichlet(np.ones(n_losses)).tolist()
    epsilon = float(rng.uniform(0, 0.8)) * max(1, first + n_losses - 1) * count * span
    losses = [(k + first) * mpf(span) for k in range(n_losses)]
    truth = mpf(0)
    for each in product(range(n_losses), repeat=count):
        loss = mpmath.fsum(losses[k] for k in each) - mpf(epsilon)
        if loss > 0:
            truth += mpmath.fprod(mpf(chances[k]) for k in each) * -mpmath.expm1(-loss)
    made = G.LossDistribution(span, (first, chances))
    return Case(float((count * made).delta(epsilon)), None, truth) if truth > 1e-12 else None


def selection_case(rng: Random) -> Case | None:
    """One exponential mechanism of range ε: the worst of its pairs (Dong, Durfee and Rogers 2020)."""
    loss = float(10 ** rng.uniform(-2, 1))
    epsilon = float(rng.uniform(0, 0.95)) * loss
    e, x = mpf(loss), mpf(epsilon)
    t = (e + x) / 2
    share = mpmath.expm1(e - t) / mpmath.expm1(e) * mpmath.exp(t)
    return of_bound(G.ExponentialLoss(loss).delta(epsilon), share * -mpmath.expm1(x - t))


Kind = Callable[[Random], Case | None]
PARTS: dict[str, list[Kind]] = {
    "1, Rényi bounds": [renyi_case],
    "2, groups and samples": [group_case, sampled_case, sampled_responses_case],
    "3, curves, and two Laplace releases": [laplace_curve_case, sampled_curve_case, laplace_pair_case],
    "4, trade-offs and negative ε": [tradeoff_case, negative_case],
    "5, distributions of losses": [atoms_case],
    "6, selection": [selection_case],
}
