"""Reference values of privacy curves, with 20 digits and more, from their definitions and without the library.

`python -m tests.guarantees.reference` checks the formulas by second methods and rewrites reference.json beside this
file. Numbers are kept as text. An input is the float nearest to it, exactly; a value is cut off after its last digit.
Every value is computed twice, the second time with more digits, finer steps and longer sums, and is kept only if both
agree; otherwise the digits are raised.

P is the law of the output, Q that of a neighbour, L = log P/Q the loss; s = order − 1 and M(s) = E_P e^{sL}.
A profile is δ(e) = E_P[(1 − e^{e−L})₊], for real e of either sign.
"""

import bisect
import functools
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from decimal import ROUND_DOWN, Context
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
from mpmath import exp, expm1, log, log1p, mp, mpc, mpf, sqrt, tanh, workdps

PATH = Path(__file__).with_name("reference.json")
DIGITS = 80
Mechanism = tuple[str, ...]  # its kind and its parameters
Parts = tuple[tuple[Mechanism, int], ...]
Case = tuple[str, dict[str, Any], Callable[[], dict[str, Any]]]  # name, inputs, what computes the values
Curve = Callable[[Any], Any]


# -- everything twice --------------------------------------------------------------------------------------------------


def settled(compute: Callable, *texts: str, digits: int = DIGITS, agree: int = 25) -> str:
    """Return compute(*numbers), with more and more digits until two results agree."""
    last = None
    while True:
        with workdps(digits):
            value = compute(*map(real, texts))
            if last is not None and (value == last or abs(value - last) <= abs(value) * mpf(10) ** (-agree)):
                return written(value, agree)
        last, digits = value, digits * 3 // 2


def solved(falling: Curve, low: str, high: str, digits: int = DIGITS) -> str:
    """Return the zero of a falling function as 24 digits; with more digits it must change its sign beside them."""
    while True:
        with workdps(digits):
            zero = falling_zero(falling, mpf(low), mpf(high))
        digits = digits * 3 // 2
        with workdps(digits):
            apart = abs(zero) * mpf(10) ** -24
            if falling(zero - apart) >= 0 >= falling(zero + apart):
                return written(zero, 24)


def real(text: str) -> Any:
    return mpf(float(text))


def written(value: Any, digits: int) -> str:
    if value == mpmath.inf:
        return "inf"
    return str(Context(prec=digits, rounding=ROUND_DOWN).create_decimal(mpmath.nstr(value, 60)))


def falling_zero(falling: Curve, low: Any, high: Any) -> Any:
    """Return the zero to 25 digits by Ridders' rule: the bracket is at least halved, and soon squared, in each turn."""
    at_low, at_high, point = falling(low), falling(high), high
    assert at_low >= 0 >= at_high
    while high - low > mpf(10) ** -25 * abs(point):
        middle = (low + high) / 2
        at_middle = falling(middle)
        root = sqrt(at_middle**2 - at_low * at_high)
        point = middle + (middle - low) * at_middle / root if root else middle
        known = [(low, at_low), (middle, at_middle), (point, falling(point)), (high, at_high)]
        low, at_low = max(pair for pair in known if pair[1] >= 0)
        high, at_high = min(pair for pair in known if pair[1] <= 0)
    return point


# -- moments M(s) and largest losses -----------------------------------------------------------------------------------


def response_moment(s, epsilon):
    return (exp(s * epsilon) + exp(-(s + 1) * epsilon)) / (1 + exp(-epsilon))


def laplace_moment(s, scale):
    return ((s + 1) * exp(s / scale) + s * exp(-(s + 1) / scale)) / (2 * s + 1)


def gaussian_moment(s, mu):
    return exp(s * (s + 1) * mu**2 / 2)


def discrete_laplace_moment(s, scale, sensitivity):
    """Sum over the outcomes at or below 0, between, and at or above the sensitivity."""
    d, r = int(sensitivity), exp(-1 / scale)
    inner = mpmath.fsum((1 - r) * r**k * exp(s * (d - 2 * k) / scale) for k in range(1, d))
    return (exp(s * d / scale) + inner + r**d * exp(-s * d / scale)) / (1 + r)


def discrete_gaussian_moment(s, std, sensitivity):
    """Complete the square in Σ P^{s+1} Q^{−s}: the Gaussian moment times a ratio of two theta sums."""
    return gaussian_moment(s, sensitivity / std) * theta(s * sensitivity, std) / theta(mpf(0), std)


def theta(shift, std):
    """Return Σ_k exp(−(k + shift)²/2std²) over the integers, a function of the fractional part of the shift."""
    shift -= mpmath.nint(shift)
    reach = int(std * sqrt(2 * mp.prec)) + 2
    return mpmath.fsum(exp(-((k + shift) ** 2) / (2 * std**2)) for k in range(-reach, reach + 1))


def range_moment(s, epsilon):
    """Return the largest moment of two outcomes with the losses t and t − ε, 0 ≤ t ≤ ε.

    Both laws sum to 1, so P = (e^ε − e^t)/(e^ε − 1) at the loss t, and with x = e^t the moment is
    x^s·(A − Bx)/(e^ε − 1), A = e^ε − e^{−sε}, B = 1 − e^{−sε}. Its derivative vanishes at x = sA/((s + 1)B) only.
    """
    a, b = exp(-s * epsilon) * expm1((s + 1) * epsilon), -expm1(-s * epsilon)
    return (s * a / ((s + 1) * b)) ** s * a / ((s + 1) * expm1(epsilon))


def subsampled_moment(s, q, sigma, side):
    """P is the mixture when a row is removed, and N(0, σ²) when it is added; Q is the other one."""
    return expectation(1 + s if side == "remove" else -s, q, sigma)


def expectation(power, q, sigma):
    """Return E r^power, r = 1 − q + q·exp((2x − 1)/2σ²), x ~ N(0, σ²)."""
    return mpmath.fsum(weight * exp(power * loss) for weight, loss in ratios(max(power, 0), 0, q, sigma, mp.dps))


@functools.lru_cache(maxsize=4)
def ratios(top, reach, q, sigma, digits):
    """Return pairs (weight, log r) of a trapezoid rule for E r^f, Re f ≤ top, |Im f| ≤ reach.

    The integrand is analytic for |Im x| < πσ² and grows by exp(π²σ²/2 + π·reach) at most towards those lines: the
    error of a step h is that times exp(−2π²σ²/h). A third of the logarithm is left over, for negative powers of r.
    """
    lost = digits * log(10)
    step = mpf(4) / 3 * mp.pi**2 * sigma**2 / (lost + mp.pi**2 * sigma**2 / 2 + mp.pi * reach)
    width = sigma * sqrt(2 * lost + 100)
    places = [step * n for n in range(-int(width / step) - 1, int((top + width) / step) + 2)]
    scale, twice = step / (sigma * sqrt(2 * mp.pi)), 2 * sigma**2
    return [(scale * exp(-(x**2) / twice), log(1 - q + q * exp((2 * x - 1) / twice))) for x in places]


MOMENT = {
    "pure": response_moment,
    "randomized response": response_moment,
    "laplace": laplace_moment,
    "gaussian": gaussian_moment,
    "zcdp": lambda s, rho: exp(rho * s * (s + 1)),
    "discrete laplace": discrete_laplace_moment,
    "discrete gaussian": discrete_gaussian_moment,
    "bounded range": range_moment,
    "subsampled gaussian add": functools.partial(subsampled_moment, side="add"),
    "subsampled gaussian remove": functools.partial(subsampled_moment, side="remove"),
}
LARGEST_LOSS = {
    "pure": lambda epsilon: epsilon,
    "randomized response": lambda epsilon: epsilon,
    "laplace": lambda scale: 1 / scale,
    "discrete laplace": lambda scale, sensitivity: sensitivity / scale,
    "bounded range": lambda epsilon: epsilon,
    "subsampled gaussian add": lambda q, _: -log1p(-q),
}


def largest_loss(kind, *numbers):
    return LARGEST_LOSS[kind](*numbers) if kind in LARGEST_LOSS else mpmath.inf


def cumulant(parts: Parts, s):
    """Return log M(s) of a composition."""
    return mpmath.fsum(n * log(MOMENT[kind](s, *map(real, numbers))) for (kind, *numbers), n in parts)


def renyi(order, *mechanism):
    """Return D_order; at order 1 the limit, taken so near that half of the digits are left."""
    if order == mpmath.inf:
        return largest_loss(mechanism[0], *map(real, mechanism[1:]))
    s = order - 1 if order > 1 else mpf(10) ** (-mp.dps * 9 // 20)
    return cumulant(((mechanism, 1),), s) / s


# -- profiles ----------------------------------------------------------------------------------------------------------


def tail(x):
    return mpmath.erfc(x / sqrt(2)) / 2


def gaussian_profile(e, mu):
    return tail(e / mu - mu / 2) - exp(e) * tail(e / mu + mu / 2)


def laplace_profile(e, scale, count=1):
    """Return δ(e) of `count` Laplace releases by residues.

    With u = s + 1/2 and t = 1/scale, M = e^{−t/2}·[(u + 1/2)e^{ut} + (u − 1/2)e^{−ut}]/2u, and
    δ(e) = (1/2πi)∫ M^k e^{−es}/(s(s + 1)) ds to the right of u = 1/2. The power is expanded. The term with the
    exponent x = (2j − k)t − e vanishes for x ≤ 0 (close to the right); else it is the sum of its residues: at u = 0
    the coefficient of v^{k−1} in 2^{1−k}·e^{xv/2}(1 + v)^{j−1}(v − 1)^{k−j−1}, and one more where j is k or 0.
    """
    k, t, total = int(count), 1 / scale, mpf(0)
    for j in range(k + 1):
        x = (2 * j - k) * t - e
        if x > 0:
            simple = exp(x / 2) if j == k else -exp(-x / 2) if j == 0 else 0
            total += math.comb(k, j) * (simple + residue_at_zero(j, k, x / 2))
    return exp((e - k * t) / 2) * total


def residue_at_zero(j, k, y):
    """Return 2^{1−k}·Σ_n f_n y^{k−1−n}/(k−1−n)! for Σ f_n v^n = (1 + v)^{j−1}(v − 1)^{k−j−1}, n < k.

    (1 − v²)f′ = (2j − k − (k − 2)v)f gives (n + 1)f_{n+1} = (2j − k)f_n + (n + 1 − k)f_{n−1}. Horner's rule in y,
    with whole numbers in units of 2^−bits.
    """
    bits = mp.prec
    y = int(mpmath.ldexp(y, bits))
    before, now, total = 0, 1 if (k - j) % 2 else -1, 0
    for n in range(k):
        total = (total * y >> bits) // (k - n) + (now << bits)
        before, now = now, ((2 * j - k) * now + (n + 1 - k) * before) // (n + 1)
    return mpmath.ldexp(total, 1 - k - bits)


def range_profile(e, epsilon):
    """Return the largest P(1 − e^{e−t}) over t, P = (e^ε − e^t)/(e^ε − 1): t = (ε + e)/2, half way."""
    return expm1((e - epsilon) / 2) ** 2 / -expm1(-epsilon) if e < epsilon else mpf(0)


def subsampled_profile(e, q, sigma, side):
    """Return P(A) − e^e·Q(A) for the half line A where P > e^e·Q; r = e^{±e} at its end."""
    inner = (expm1(e) if side == "remove" else expm1(-e)) + q
    if inner <= 0:
        return mpf(0)
    x, sign = sigma**2 * log(inner / q) + mpf(1) / 2, 1 if side == "remove" else -1
    centre, shifted = tail(sign * x / sigma), tail(sign * (x - 1) / sigma)
    mixture = (1 - q) * centre + q * shifted
    return mixture - exp(e) * centre if side == "remove" else centre - exp(e) * mixture


# -- finite laws -------------------------------------------------------------------------------------------------------


class Law(NamedTuple):
    """The loss is lowest + i·step with the probability weights[i]/2^bits."""

    lowest: Any
    step: Any
    weights: list[int]
    bits: int

    def atoms(self) -> list[tuple[Any, Any]]:
        return [(self.lowest + i * self.step, mpmath.ldexp(w, -self.bits)) for i, w in enumerate(self.weights)]


def law(lowest, step, probabilities) -> Law:
    bits = 2 * mp.prec
    return Law(lowest, step, [int(mpmath.ldexp(p, bits)) for p in probabilities], bits)


def response_law(epsilon):
    p = 1 / (1 + exp(-epsilon))
    return law(-epsilon, 2 * epsilon, [1 - p, p])


def discrete_laplace_law(scale, sensitivity):
    d, r = int(sensitivity), exp(-1 / scale)
    inner = [(1 - r) * r**k for k in range(d - 1, 0, -1)]
    return law(-d / scale, 2 / scale, [p / (1 + r) for p in (r**d, *inner, 1)])


def discrete_gaussian_law(std, sensitivity):
    """The outcome k has the loss (d² − 2dk)/2std²; what is left out weighs less than a unit in the last place."""
    d, square, reach = sensitivity, std**2, int(2 * std * sqrt(mp.prec)) + int(sensitivity) + 2
    norm, outcomes = theta(mpf(0), std), map(mpf, range(-reach, reach + 1))
    lowest = (d**2 - 2 * d * reach) / (2 * square)
    return law(lowest, d / square, [exp(-(k**2) / (2 * square)) / norm for k in outcomes])


def convolved(one: Law, two: Law) -> Law:
    """Multiply the laws as polynomials, each packed into one whole number; zeros at the ends are dropped."""
    size = (one.bits + two.bits) // 8 + 8
    packed = [b"".join(w.to_bytes(size, "little") for w in each.weights) for each in (one, two)]
    product = int.from_bytes(packed[0], "little") * int.from_bytes(packed[1], "little")
    raw = product.to_bytes(size * (len(one.weights) + len(two.weights)), "little")
    sums = [int.from_bytes(raw[i : i + size], "little") >> two.bits for i in range(0, len(raw), size)]
    kept = [i for i, w in enumerate(sums) if w]
    return Law(one.lowest + two.lowest + kept[0] * one.step, one.step, sums[kept[0] : kept[-1] + 1], one.bits)


def power(base: Law, count: int) -> Law:
    if count == 1:
        return base
    half = power(base, count // 2)
    return convolved(convolved(half, half), base) if count % 2 else convolved(half, half)


LAW = {
    "randomized response": response_law,
    "discrete laplace": discrete_laplace_law,
    "discrete gaussian": discrete_gaussian_law,
}


@functools.cache
def composed_law(part: tuple[Mechanism, int], digits: int) -> Law:
    """Return the law of the sum of equal losses."""
    (kind, *numbers), count = part
    with workdps(digits):
        return power(LAW[kind](*map(real, numbers)), count)


def finite_profile(e, *mechanism):
    return mpmath.fsum(-p * expm1(e - loss) for loss, p in composed_law((mechanism, 1), mp.dps).atoms() if loss > e)


def finite_epsilon(part: tuple[Mechanism, int], delta):
    """Return the least ε: between two losses δ is A − e^ε·B, with the sums of P and Q from the upper one on."""
    a = b = mpf(0)
    atoms = composed_law(part, mp.dps).atoms()
    for i in reversed(range(len(atoms))):
        loss, p = atoms[i]
        below = max(mpf(0), atoms[i - 1][0]) if i else mpf(0)
        a, b = a + p, b + p * exp(-loss)
        if a - exp(below) * b >= delta or below == 0:
            return max(mpf(0), log(max(a - delta, mpf(0)) / b)) if a > delta else mpf(0)
    raise ArithmeticError("no loss is positive")


# -- from moments to ε -------------------------------------------------------------------------------------------------


def converted(curve: Curve, s, delta):
    """Return R + log(1 − 1/a) − (log δ + log a)/(a − 1) at the order a = 1 + s, where s·R = curve(s)."""
    return (curve(s) - log(delta) - log1p(s)) / s + log(s) - log1p(s)


def best_order(curve: Curve, delta):
    """Return the order, less 1, of the least conversion: its slope has the sign of s·K′ − K + log δ + log(1 + s).

    That rises with s, so there is one minimum. It is flat: a difference quotient and half of the digits suffice.
    """
    low, high = mpf(-60), mpf(120)
    near = mpf(10) ** (-mp.dps // 3)
    while high - low > mpf(10) ** -18:
        middle = (low + high) / 2
        s = exp(middle)
        slope = (curve(s * (1 + near)) - curve(s)) / near - curve(s) + log(delta) + log1p(s)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return exp(low)


def renyi_epsilon(parts: Parts, delta):
    curve = functools.partial(cumulant, parts)
    return max(mpf(0), converted(curve, best_order(curve, delta), delta))


def contour(moments, c, step, digits):
    """Return M/(z(z + 1)) at z = c + i·n·step, n = 0, 1, …, until a fourth of them are below 10^−digits of the first.

    None is returned if `moments` ends before.
    """
    values = []
    for n, moment in enumerate(moments):
        z = mpc(c, n * step)
        values.append(moment / (z * (z + 1)))
        if n > 20 and n % 8 == 0 and max(map(abs, values[-n // 4 :])) < abs(values[0]) * mpf(10) ** -digits:
            return values
    return None


def contour_profile(e, values, c, step):
    """Return (step/π)·e^{−ce}·Re Σ′ v_n e^{−i·n·step·e}: δ(e) and, all ≥ 0, δ(e + 2πn/step)·e^{2πcn/step}, n ≠ 0."""
    turn, phase, total = mpmath.expj(-step * e), mpc(1), values[0].real / 2
    for value in values[1:]:
        phase *= turn
        total += (value * phase).real
    return total * step / mp.pi * exp(-c * e)


# -- compositions ------------------------------------------------------------------------------------------------------


def composed_profile(parts: Parts, delta: str) -> Curve:
    """Return δ(·): given the losses of the finite parts, the others have a closed form, or else a contour."""
    finite = tuple(part for part in parts if part[0][0] in LAW)
    square = sum(Fraction(float(numbers[0])) ** 2 * n for (kind, *numbers), n in parts if kind == "gaussian")
    laplace = [(numbers[0], n) for (kind, *numbers), n in parts if kind == "laplace"]

    def at(e):
        if square and laplace:
            return contour_profile(e, *contour_nodes(parts, delta, mp.dps))
        if square:
            return given(finite, lambda x: gaussian_profile(x, sqrt(mpf(square))), e)
        if laplace:
            ((scale, count),) = laplace
            return given(finite, lambda x: laplace_profile(x, real(scale), count), e)
        return given(finite[::2], functools.partial(sorted_profile, sums(finite[1::2], mp.dps)), e)

    return at


def given(finite: Parts, rest: Curve, e):
    """Return E δ(e − L) over the losses of the finite parts, for the profile δ of the rest."""
    losses, weights, _ = sums(finite, mp.dps)
    return mpmath.fsum(p * rest(e - loss) for loss, p in zip(losses, weights, strict=True))


@functools.cache
def sums(finite: Parts, digits: int):
    """Return all sums of losses in rising order, their weights, and Σ P and Σ Q from each one on."""
    with workdps(digits):
        atoms = [(mpf(0), mpf(1))]
        for part in finite:
            new = composed_law(part, digits).atoms()
            atoms = [(loss + more, p * q) for loss, p in atoms for more, q in new]
        losses, weights = zip(*sorted(atoms), strict=True)
        p_tails = list(itertools.accumulate(reversed(weights)))[::-1]
        q_weights = [p * exp(-loss) for loss, p in zip(losses, weights, strict=True)]
        q_tails = list(itertools.accumulate(reversed(q_weights)))[::-1]
        return losses, weights, list(zip(p_tails, q_tails, strict=True))


def sorted_profile(table, e):
    losses, _, tails = table
    i = bisect.bisect_right(losses, e)
    return tails[i][0] - exp(e) * tails[i][1] if i < len(losses) else mpf(0)


@functools.cache
def contour_nodes(parts: Parts, delta: str, digits: int):
    """Return the nodes; one part is Gaussian, so they decay. Both step and abscissa move with the number of digits."""
    curve = functools.partial(cumulant, parts)
    c = best_order(curve, real(delta)) * (1 + mpf(20) / digits)
    step = 2 * mp.pi * c / ((digits + 30) * log(10))
    return contour((exp(curve(mpc(c, n * step))) for n in itertools.count()), c, step, digits), c, step


def least_epsilon(parts: Parts, delta: str) -> dict[str, str]:
    """Return ε, and the sum of the largest losses: of the decimals, because budgets add those."""
    loss = settled(lambda: mpmath.fsum(n * largest_loss(kind, *map(mpf, numbers)) for (kind, *numbers), n in parts))
    if len(parts) == 1 and parts[0][0][0] in LAW:
        return {"max_loss": loss, "epsilon": settled(functools.partial(finite_epsilon, parts[0]), delta)}
    at = composed_profile(parts, delta)
    digits = max(DIGITS, *(4 * n // 10 for (kind, *_), n in parts if kind == "laplace"), 0)
    high = settled(functools.partial(renyi_epsilon, parts), delta)
    with workdps(digits):
        high, near = [mpmath.nstr(mpf(high) * factor, 30) for factor in (1 + mpf(10) ** -20, mpf("0.9"))]
        low = next((e for e in (near, "0") if at(mpf(e)) > real(delta)), None)
    return {"max_loss": loss, "epsilon": solved(lambda e: at(e) - real(delta), low, high, digits) if low else "0.0"}


# -- subsampled releases -----------------------------------------------------------------------------------------------


def subsampled_epsilon(q, sigma, steps, delta, side):
    """Return the least ε for many steps, on a contour whose step is certified: what it adds to δ is bounded first."""

    @functools.cache
    def curve(s):
        return steps * log(subsampled_moment(s, q, sigma, side))

    orders = [mpf("1.25") ** n for n in range(-5, 20)]
    c = min(orders, key=lambda s: converted(curve, s, delta))
    high = converted(curve, c, delta)
    low, step = high * mpf("0.8"), c
    while aliases(curve, orders, (c, step), low) > delta * mpf(10) ** (8 - mp.dps):
        step /= 2
    values, reach = None, 32
    while values is None:
        values, reach = contour(turned(q, sigma, int(steps), side, (c, step, reach)), c, step, mp.dps), 2 * reach
    return falling_zero(lambda e: contour_profile(e, values, c, step) - delta, low, high)


def aliases(curve, orders, place, e):
    """Bound Σ δ(e + 2πn/step)·e^{2πcn/step} over n ≠ 0: by δ ≤ 1 on the left and by E_P e^{b(L − e)} on the right."""
    c, step = place
    right = min(exp(curve(b) - b * e) / expm1(2 * mp.pi * (b - c) / step) for b in orders if b > c)
    return right + 1 / expm1(2 * mp.pi * c / step)


def turned(q, sigma, steps, side, place):
    """Yield M(c + i·n·step)^steps up to the height `reach`: from node to node every term of M turns by its angle.

    The terms are pairs of whole numbers in units of 2^−bits.
    """
    c, step, reach = place
    f, sign = (1 + c, 1) if side == "remove" else (-c, -1)
    grid, bits = ratios(max(f, 0), reach, q, sigma, mp.dps), mp.prec + 20
    terms = [(int(mpmath.ldexp(weight * exp(f * loss), bits)), 0) for weight, loss in grid]
    angles = [mpmath.expj(sign * step * loss) for _, loss in grid]
    turns = [(int(mpmath.ldexp(turn.real, bits)), int(mpmath.ldexp(turn.imag, bits))) for turn in angles]
    for _ in range(int(reach / step)):
        yield (mpc(*map(sum, zip(*terms, strict=True))) / 2**bits) ** steps
        pairs = zip(terms, turns, strict=True)
        terms = [((a * x - b * y) >> bits, (a * y + b * x) >> bits) for (a, b), (x, y) in pairs]


# -- the sections ------------------------------------------------------------------------------------------------------

ORDERS = ("1", "1.000000000001", "1.25", "1.5", "2", "2.5", "5.5", "8", "32", "1000", "1000000", "inf")
STRENGTHS = ("0.01", "0.1", "1", "5")
RATES = [  # sampling rate, noise multiplier
    ("0.5", "0.7"), ("0.1", "2"), ("0.01", "1"), ("0.0042666666666666667", "1.1"), ("0.01", "0.8"), ("0.0001", "0.6"),
]  # fmt: skip
MECHANISMS: list[Mechanism] = [
    *[("randomized response", epsilon) for epsilon in STRENGTHS],
    *[("laplace", scale) for scale in ("100", "10", "1", "0.2")],
    *[("gaussian", mu) for mu in STRENGTHS],
    *[("discrete laplace", *numbers) for numbers in (("1", "1"), ("10", "1"), ("10", "3"), ("2.5", "4"))],
    *[("discrete gaussian", *numbers) for numbers in (("0.3", "1"), ("1", "1"), ("2", "3"), ("10", "1"))],
    *[("bounded range", epsilon) for epsilon in STRENGTHS],
    *[(f"subsampled gaussian {side}", *numbers) for numbers in RATES for side in ("add", "remove")],
]


def name(*parts: tuple[Mechanism, int]) -> str:
    one = [f"{n} x " * (n > 1) + f"{kind}({', '.join(numbers)})" for (kind, *numbers), n in parts]
    return " + ".join(one) if len(one) < 5 else f"{one[0]} + ... + {one[-1]}"


def curves() -> Iterator[Case]:
    """Rényi divergences of one release, at single orders."""
    for mechanism in MECHANISMS:
        orders = (*ORDERS[:9], "64", "inf") if "subsampled" in mechanism[0] else ORDERS
        yield name((mechanism, 1)), {"mechanism": mechanism}, functools.partial(curve_values, mechanism, orders)


def curve_values(mechanism: Mechanism, orders: tuple[str, ...]) -> dict[str, Any]:
    return {"renyi": {order: settled(lambda a: renyi(a, *mechanism), order) for order in orders}}


PROFILE = {
    "laplace": laplace_profile,
    "gaussian": gaussian_profile,
    "bounded range": range_profile,
    "subsampled gaussian add": functools.partial(subsampled_profile, side="add"),
    "subsampled gaussian remove": functools.partial(subsampled_profile, side="remove"),
}


def profiles() -> Iterator[Case]:
    """δ of one release, at round ε and near the largest loss; nothing that is positive and below 1e-60."""
    for mechanism in MECHANISMS:
        yield name((mechanism, 1)), {"mechanism": mechanism}, functools.partial(profile_values, mechanism)


def profile_values(mechanism: Mechanism) -> dict[str, Any]:
    results = {
        e: settled(lambda x: profile(x, *mechanism), e) for e in ("0", "0.05", "0.5", "1", "3", *near(mechanism))
    }
    return {"delta": {e: delta for e, delta in results.items() if mpf(delta) == 0 or mpf(delta) > mpf(10) ** -60}}


def profile(e, *mechanism):
    kind, *numbers = mechanism
    return finite_profile(e, *mechanism) if kind in LAW else PROFILE[kind](e, *map(real, numbers))


def near(mechanism: Mechanism) -> list[str]:
    """Return decimals a little below the largest loss, where there is one."""
    kind, *numbers = mechanism
    if "subsampled" in kind:
        return [numbers[0]]  # below −log(1 − q)
    loss = largest_loss(kind, *map(real, numbers))
    return [] if loss == mpmath.inf else [mpmath.nstr(loss * place, 10) for place in (mpf("0.9"), mpf("0.99"))]


def conversions() -> Iterator[Case]:
    """ε from a Rényi curve, at the best of all real orders and at single ones; 0 where the formula falls below."""
    kinds = [(kind, one) for kind in ("pure", "laplace", "gaussian") for one in ("0.1", "1")]
    kinds += [("zcdp", rho) for rho in ("0.001", "0.1", "1", "10")]
    for mechanism, n, delta in itertools.product(kinds, (1, 10, 1000), ("1e-2", "1e-6", "1e-12", "1e-30")):
        parts = ((mechanism, n),)
        compute = functools.partial(settled, functools.partial(renyi_epsilon, parts), delta)
        yield f"{name(*parts)} at {delta}", {"parts": parts, "delta": delta}, epsilon_of(compute)
    for order, value, delta in itertools.product(("1.25", "2", "8", "64"), ("0.01", "1"), ("1e-2", "1e-6", "1e-30")):
        compute = functools.partial(settled, order_epsilon, order, value, delta)
        given = {"order": order, "renyi": value, "delta": delta}
        yield f"D_{order} = {value} at {delta}", given, epsilon_of(compute)


def epsilon_of(compute: Callable[[], str]) -> Callable[[], dict[str, Any]]:
    return lambda: {"epsilon": compute()}


def order_epsilon(order, value, delta):
    return max(mpf(0), converted(lambda s: s * value, order - 1, delta))


def gaussian_sigma() -> Iterator[Case]:
    """The least noise for (ε, δ) at sensitivity 1."""
    epsilons = ("0", "1e-3", "0.01", "0.1", "0.5", "1", "2", "5", "10", "20", "50")
    deltas = ("1e-2", "1e-5", "1e-6", "1e-9", "1e-12", "1e-15", "1e-20", "1e-30")
    for epsilon, delta in itertools.product(epsilons, deltas):
        compute = functools.partial(least_sigma, epsilon, delta)
        yield f"epsilon {epsilon} delta {delta}", {"epsilon": epsilon, "delta": delta}, compute


def least_sigma(epsilon: str, delta: str) -> dict[str, Any]:
    return {"sigma": solved(lambda sigma: gaussian_profile(real(epsilon), 1 / sigma) - real(delta), "0.01", "1e31")}


def compositions() -> Iterator[Case]:
    """The least ε of a composition."""
    few, response = (1, 2, 10, 1000), "randomized response"
    cases: list[Parts] = [
        *[((("gaussian", mu), n),) for mu in ("0.01", "0.1", "1") for n in few],
        *[(((response, epsilon), n),) for epsilon in ("0.1", "1") for n in (*few, 50, 200)],
        tuple(((response, f"0.{n:02}"), 1) for n in range(5, 25)),
        ((("laplace", "1"), 3), ((response, "0.5"), 2)),
        ((("gaussian", "0.5"), 1), (("laplace", "2"), 4), ((response, "0.3"), 3)),
        ((("gaussian", "1"), 2), ((response, "2"), 1)),
        *[((("discrete laplace", "10", "3"), n),) for n in (10, 1000)],
        *[((("discrete gaussian", "2", "1"), n),) for n in (1, 10, 1000)],
        ((("discrete gaussian", "10", "3"), 10),),
        *[((("laplace", scale), n),) for scale in ("10", "1") for n in (1, 2, 10, 50, 200, 1000)],
    ]
    for parts, delta in itertools.product(cases, ("1e-6", "1e-12", "1e-30")):
        compute = functools.partial(least_epsilon, parts, delta)
        yield f"{name(*parts)} at {delta}", {"parts": parts, "delta": delta}, compute


def subsampled() -> Iterator[Case]:
    """The least ε of many subsampled Gaussian releases, to 18 digits."""
    runs = [
        ("0.1", "2", "100"), ("0.5", "1", "10"), ("0.01", "1", "1000"), ("0.01", "1", "10000"),
        ("0.0042666666666666667", "1.1", "14062"), ("0.01", "0.8", "10000"), ("0.001", "0.6", "100000"),
    ]  # fmt: skip
    for run, delta, side in itertools.product(runs, ("1e-5", "1e-10"), ("add", "remove")):
        given = dict(zip(("rate", "noise_multiplier", "steps"), run, strict=True)) | {"delta": delta, "side": side}
        compute = functools.partial(subsampled_epsilon, side=side)
        text = functools.partial(settled, compute, *run, delta, digits=30, agree=18)
        yield f"rate {run[0]} noise {run[1]} steps {run[2]} {side} at {delta}", given, epsilon_of(text)


def advanced() -> Iterator[Case]:
    """Advanced composition of pure guarantees, as Dwork and Roth print it and with its mean loss."""
    settings = (("0.01", "100"), ("0.01", "1000"), ("0.1", "1000"), ("0.1", "10000"), ("0.5", "200"))
    for (epsilon, count), delta in itertools.product(settings, ("1e-6", "1e-12")):
        given = {"epsilon": epsilon, "count": count, "delta": delta}
        yield f"{count} x {epsilon} at {delta}", given, functools.partial(advanced_values, epsilon, count, delta)


def advanced_values(*texts: str) -> dict[str, Any]:
    def spread(e, k, delta):
        return e * sqrt(-2 * k * log(delta))

    return {
        "dwork_roth": settled(lambda e, k, delta: spread(e, k, delta) + k * e * expm1(e), *texts),
        "tanh": settled(lambda e, k, delta: spread(e, k, delta) + k * e * tanh(e / 2), *texts),
    }


SECTIONS = (curves, profiles, conversions, gaussian_sigma, compositions, subsampled, advanced)


# -- second methods ----------------------------------------------------------------------------------------------------


def same(one: Any, two: Any, digits: int = 25) -> None:
    assert abs(one - two) <= abs(two) * mpf(10) ** -digits, f"{one} is not {two}"


@workdps(DIGITS)
def check_moments() -> None:
    """Order 1 by its closed forms, the bounded range by maximising, whole orders by binomial sums."""
    e, t = real("0.1"), 1 / real("0.2")
    same(renyi(1, "pure", "0.1"), e * tanh(e / 2))
    same(renyi(1, "laplace", "0.2"), t + exp(-t) - 1)
    same(renyi(1, "discrete gaussian", "0.3", "1"), 1 / (2 * real("0.3") ** 2))
    same(renyi(1, "bounded range", "0.1"), log(expm1(e) / e) - 1 + e / expm1(e))
    for s, eps in itertools.product((mpf("0.25"), mpf(1), mpf(31)), map(mpf, STRENGTHS)):
        same(range_moment(s, eps), largest(lambda x, s=s, eps=eps: two_atoms(s, x, eps), eps))
    for e, eps in ((mpf(0), mpf(1)), (mpf("0.5"), mpf(5))):
        gain = functools.partial(lambda x, e, eps: (exp(eps) - exp(x)) * -expm1(e - x) / expm1(eps), e=e, eps=eps)
        same(range_profile(e, eps), largest(gain, eps))
    for q, sigma in ((mpf(q), mpf(sigma)) for q, sigma in RATES):
        for a in (2, 5, 32):
            weights = [mpmath.binomial(a, j) * (1 - q) ** (a - j) * q**j for j in range(a + 1)]
            moments = [gaussian_moment(j - 1, 1 / sigma) for j in range(a + 1)]
            same(expectation(mpf(a), q, sigma), mpmath.fdot(weights, moments), 60)


def two_atoms(s, t, epsilon):
    p = (exp(epsilon) - exp(t)) / expm1(epsilon)
    return p * exp(s * t) + (1 - p) * exp(s * (t - epsilon))


def largest(hill: Curve, end):
    """Return the largest value on [0, end] of a function that rises and then falls."""
    low, high = mpf(0), end
    while high - low > end * mpf(10) ** -25:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if hill(left) < hill(right) else (low, right)
    return hill((low + high) / 2)


@workdps(DIGITS)
def check_profiles() -> None:
    """Integrals of the definition; δ(e) = 1 − e^e below the least loss; the contour for 1,000 Laplace releases."""
    for e, kink in ((mpf("-0.3"), mpf("0.15")), (mpf("0.2"), mpf("0.9"))):
        same(laplace_profile(e, mpf(1)), -expm1((e - 1) / 2))
        inner = mpmath.quad(lambda x, e=e: laplace_profile(e - 1 + 2 * x, mpf(1)) * exp(-x) / 2, [0, kink, 1])
        ends = laplace_profile(e - 1, mpf(1)) / 2 + laplace_profile(e + 1, mpf(1)) * exp(mpf(-1)) / 2
        same(laplace_profile(e, mpf(1), 2), inner + ends)
    for k in (1, 2, 7, 30):
        same(laplace_profile(mpf(-k - 1), mpf(1), k), -expm1(mpf(-k - 1)))
    for side, e in itertools.product(("add", "remove"), (mpf(0), mpf("0.3"))):
        same(subsampled_profile(e, mpf("0.5"), mpf("0.7"), side), subsampled_integral(e, mpf("0.5"), mpf("0.7"), side))
    same(expectation(mpf("-2.5"), mpf("0.5"), mpf("0.7")), mpmath.quad(tilted, mpmath.linspace(-20, 20, 81)))
    many = ((("laplace", "1"), 1000),)
    with workdps(400):
        exact = laplace_profile(mpf(485), mpf(1), 1000)
    same(contour_profile(mpf(485), *contour_nodes(many, "1e-9", DIGITS)), exact)


def tilted(x):
    q, sigma = mpf("0.5"), mpf("0.7")
    return mpmath.npdf(x, 0, sigma) * (1 - q + q * exp((2 * x - 1) / (2 * sigma**2))) ** mpf("-2.5")


def subsampled_integral(e, q, sigma, side):
    def gain(x):
        centre, mixture = mpmath.npdf(x, 0, sigma), (1 - q) * mpmath.npdf(x, 0, sigma) + q * mpmath.npdf(x, 1, sigma)
        return max(mpf(0), mixture - exp(e) * centre if side == "remove" else centre - exp(e) * mixture)

    kink = sigma**2 * log(((expm1(e) if side == "remove" else expm1(-e)) + q) / q) + mpf(1) / 2
    return mpmath.quad(gain, [*mpmath.linspace(-20, kink, 41), *mpmath.linspace(kink, 20, 41)[1:]])


@workdps(DIGITS)
def check_compositions() -> None:
    """Binomial sums; moments of composed laws; Gaussian releases as a contour, and as sampling at the rate 1."""
    p, e, k = 1 / (1 + exp(mpf(-1))), mpf(60), 200
    terms = (mpmath.binomial(k, j) * p**j * (1 - p) ** (k - j) * -expm1(e - 2 * j + k) for j in range(131, k + 1))
    atoms = composed_law((("randomized response", "1"), k), mp.dps).atoms()
    same(mpmath.fsum(-w * expm1(e - loss) for loss, w in atoms if loss > e), mpmath.fsum(terms))
    for mechanism, n in ((("discrete gaussian", "2", "1"), 1000), (("discrete laplace", "10", "3"), 1000)):
        s = mpf(1) / 3
        total = mpmath.fsum(w * exp(s * loss) for loss, w in composed_law((mechanism, n), mp.dps).atoms())
        same(log(total), cumulant(((mechanism, n),), s), 60)
    parts = ((("gaussian", "1"), 2), (("randomized response", "2"), 1))
    actual = contour_profile(mpf(8), *contour_nodes(parts, "1e-6", mp.dps))
    same(actual, composed_profile(parts, "1e-6")(mpf(8)))
    for side in ("add", "remove"):
        e = subsampled_epsilon(mpf(1), mpf(10), mpf(50), mpf(10) ** -10, side)
        same(gaussian_profile(e, sqrt(mpf(50)) / 10), mpf(10) ** -10)


def main() -> None:
    for check in (check_moments, check_profiles, check_compositions):
        report(check.__name__, check)
    results = {section.__name__: report(section.__name__, functools.partial(computed, section)) for section in SECTIONS}
    PATH.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")


def report(title: str, work: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = work()
    sys.stderr.write(f"{title}: {time.perf_counter() - start:.0f} s\n")
    return result


def computed(section: Callable[[], Iterator[Case]]) -> dict[str, Any]:
    return {case: given | compute() for case, given, compute in section()}


if __name__ == "__main__":
    main()
