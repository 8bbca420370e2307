"""Rényi divergences of known distributions, rounded up."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    getcontext,
    localcontext,
)
from fractions import Fraction
from numbers import Real

from gaugedp._internal import validate as _validate
from gaugedp._internal.validate import decimal
from gaugedp.accountant.rounding import up_decimal
from gaugedp.errors import InvalidRequest

Number = float | Fraction
_WIDTH = Decimal("1e-17")
_BELOW_ALL_FLOATS = Decimal("4.9e-324")


def bernoulli(order: Number, p: Number, q: Number) -> float:
    """Return the Rényi divergence of two Bernoulli distributions, in nats.

    `order` is in [1, ∞], and the success probabilities `p` and `q` are in [0, 1]. The returned number is never below
    the divergence, and above it by at most 1e-15 of it, or by one subnormal step. Invalid arguments raise
    InvalidRequest.

    For an order a, 1 < a < ∞, the divergence is log(p^a·q^(1−a) + (1−p)^a·(1−q)^(1−a))/(a − 1) (van Erven and Harremoës
    2014, equation 1); see `finite` for 1 and ∞.

    Examples
    --------
    The divergence of order 2 of two coins, in nats:

    >>> from gaugedp.guarantees import divergences
    >>> round(divergences.bernoulli(2, 0.5, 0.25), 4)
    0.2877
    """
    order = _order(order)
    _check_probability("p", p)
    _check_probability("q", q)
    exact_p, exact_q = decimal(p), decimal(q)
    return _discrete(order, [(exact_p, exact_q), (1 - exact_p, 1 - exact_q)])


def finite(order: Number, p: Sequence[Number], q: Sequence[Number]) -> float:
    """Return the Rényi divergence of two discrete distributions, in nats.

    `order` is in [1, ∞]. The probabilities `p` and `q`, shape (n,), are divided by their sums, which must be within
    1e-9 of 1. The result is infinity if q = 0 < p somewhere, and rounded as for `bernoulli`. Invalid arguments raise
    InvalidRequest.

    At order 1 the divergence is Σ p·log(p/q), at order ∞ the largest log(p/q) where p > 0, and at an order a between
    them log(Σ p·(p/q)^(a−1))/(a − 1) (van Erven and Harremoës 2014, equation 1 and theorems 5 and 6).
    """
    order = _order(order)
    law_p, law_q = law("p", p), law("q", q)
    if len(law_p) != len(law_q):
        raise InvalidRequest(
            f"`p` has {len(law_p)} probabilities, but `q` has {len(law_q)}.", "Pass them for the same outcomes."
        )
    return _discrete(order, zip(law_p, law_q, strict=True))


def normal(order: Number, mean_p: Number, std_p: Number, mean_q: Number, std_q: Number) -> float:
    """Return the Rényi divergence of two normal distributions, in nats.

    `order` is in [1, ∞], and both standard deviations are above 0. The result is rounded as for `bernoulli`. Invalid
    arguments raise InvalidRequest.

    With m = mean_p − mean_q and v = (1−a)·std_p² + a·std_q², the divergence is a·m²/(2v) + log(std_q/std_p) +
    log(std_q²/v)/(2(a−1)) for an order a, 1 < a < ∞, or infinity if v ≤ 0. At order 1 it is (m² + std_p² −
    std_q²)/(2·std_q²) + log(std_q/std_p). At order ∞ it is m²/(2(std_q² − std_p²)) + log(std_q/std_p) if std_p < std_q,
    else infinity (van Erven and Harremoës 2014, equation 10, and its limits).

    Examples
    --------
    The divergence of order a between N(1, 1) and N(0, 1) is a/2:

    >>> from gaugedp.guarantees import divergences
    >>> divergences.normal(2, mean_p=1, std_p=1, mean_q=0, std_q=1)
    1.0
    """
    order = _order(order)
    _validate.finite(mean_p=mean_p, mean_q=mean_q)
    _validate.positive(std_p=std_p, std_q=std_q)
    square, spread_p, spread_q = (decimal(mean_p) - decimal(mean_q)) ** 2, decimal(std_p) ** 2, decimal(std_q) ** 2
    if square == 0 and spread_p == spread_q:
        return 0.0
    logs = [(Fraction(1, 2), spread_q / spread_p)]
    if order == 1:
        return _certified(lambda: _number((square + spread_p - spread_q) / (2 * spread_q)) + _sum_of_logs(logs))
    inverse = Fraction(0) if order == math.inf else 1 / (decimal(order) - 1)
    mixed = spread_q - spread_p + inverse * spread_q  # v/(a − 1), and its limit at infinity
    if mixed <= 0:
        return math.inf
    if inverse:
        logs.append((inverse / 2, inverse * spread_q / mixed))
    return _certified(lambda: _number((1 + inverse) * square / (2 * mixed)) + _sum_of_logs(logs))


def laplace(order: Number, mean_p: Number, mean_q: Number, scale: Number) -> float:
    """Return the Rényi divergence of two Laplace distributions, in nats.

    `order` is in [1, ∞], and both distributions have the same `scale` > 0. The result is rounded as for `bernoulli`.
    Invalid arguments raise InvalidRequest.

    With t = |mean_p − mean_q|/scale the divergence is log(a/(2a−1)·e^((a−1)t) + (a−1)/(2a−1)·e^(−at))/(a − 1) for an
    order a, 1 < a < ∞ (Mironov 2017, proposition 6). It is t + e^(−t) − 1 at order 1, and t at order ∞.
    """
    order = _order(order)
    _validate.finite(mean_p=mean_p, mean_q=mean_q)
    _validate.positive(scale=scale)
    shift = abs(decimal(mean_p) - decimal(mean_q)) / decimal(scale)
    if shift == 0:
        return 0.0
    if order == math.inf:
        return _certified(lambda: _number(shift))
    if order == 1:
        return _certified(lambda: _number(shift - 1) + _exp(_number(-shift)))
    a = decimal(order)
    parts = [(a / (2 * a - 1), (a - 1) * shift), ((a - 1) / (2 * a - 1), -a * shift)]
    return _certified(
        lambda: _times(1 / (a - 1), _log_sum_exp([_log(weight) + _number(power) for weight, power in parts]))
    )


def weak_triangle(
    order: Number, first: Callable[[Number], float], second: Callable[[Number], float], p: Number | None = None
) -> float:
    """Bound a Rényi divergence by way of a third distribution.

    Use it if you know the divergences from P to R and from R to Q, and need that from P to Q.

    Parameters
    ----------
    order : number
        The order a, above 1 and finite.
    first, second : callable
        Functions of an order that return at least D(P‖R) and D(R‖Q) of that order.
    p : number, optional
        Hölder's exponent, above 1. By default the best of 48 values and of the limits at ∞ and 1, which are a/(a −
        1)·D_∞(P‖R) + D_a(R‖Q) and D_a(P‖R) + D_∞(R‖Q).

    Returns
    -------
    float
        In nats, infinity if no exponent gives a bound.

    Notes
    -----
    For the order a and 1/p + 1/q = 1, the divergence from P to Q is at most (a − 1/p)/(a − 1)·D_{pa}(P‖R) + D_{q(a −
    1/p)}(R‖Q) (Mironov 2017, proposition 11; Hölder's inequality).

    Examples
    --------
    Bound the divergence of N(2, 1) from N(0, 1) by way of N(1, 1):

    >>> from functools import partial
    >>> from gaugedp.guarantees import divergences
    >>> step = partial(divergences.normal, mean_p=1, std_p=1, mean_q=0, std_q=1)
    >>> round(divergences.weak_triangle(2, step, step), 3)  # D₂(N(2, 1)‖N(0, 1)) is 4
    4.0
    """
    _validate.positive(p=2 if p is None else p)
    if _order(order) in (1, math.inf) or (p is not None and not p > 1):
        raise InvalidRequest(
            f"`order` is {order!r} and `p` is {p!r}, but both must be finite numbers above 1.",
            "Pass, for example, order=2 and p=2.",
        )
    a = decimal(order)
    if p is not None:
        return _through(a, decimal(p), first, second)
    ends = [(a / (a - 1), first(math.inf), second(order)), (Fraction(1), first(order), second(math.inf))]
    bounds = {share: _through(a, 1 + share, first, second) for share in (Fraction(2) ** k for k in range(-16, 17))}
    near = min(bounds, key=bounds.__getitem__)
    finer = [_through(a, 1 + near * Fraction(2 ** (k / 8)), first, second) for k in range(-7, 8)]
    return min(*bounds.values(), *finer, *(_sum_up(*end) for end in ends))


def _through(a: Fraction, p: Fraction, first: Callable[[Number], float], second: Callable[[Number], float]) -> float:
    """Return the weak triangle inequality's right side for one exponent."""
    return _sum_up((a - 1 / p) / (a - 1), first(p * a), second((a - 1 / p) * p / (p - 1)))


def _sum_up(factor: Fraction, first: float, second: float) -> float:
    """Return factor·first + second, rounded up."""
    if math.inf in (first, second):
        return math.inf
    exact = factor * Fraction(first) + Fraction(second)
    value = float(exact)
    return value if value >= exact else math.nextafter(value, math.inf)


def push_forward(p: Sequence[Number], kernel: Sequence[Sequence[Number]]) -> list[Fraction]:
    """Return the distribution of an outcome after a random step.

    The step is post-processing of the first outcome, and post-processing preserves a guarantee: random steps do not
    increase divergences, D_a(PK‖QK) ≤ D_a(P‖Q) for every order a and kernel K (van Erven and Harremoës 2014, theorem
    9).

    Parameters
    ----------
    p : sequence of numbers, shape (n,)
        The distribution of the first outcome, as for `finite`.
    kernel : sequence of sequences, shape (n, m)
        Row i is the distribution of the second outcome given the first outcome i.

    Returns
    -------
    list of Fraction
        The distribution of the second outcome, shape (m,), exact.

    Examples
    --------
    If a bit is flipped with probability 1/4, the divergence between the two inputs falls from infinity to 0.85:

    >>> from gaugedp.guarantees import divergences
    >>> flips = [[0.75, 0.25], [0.25, 0.75]]
    >>> p, q = (divergences.push_forward(law, flips) for law in ([1, 0], [0, 1]))
    >>> round(divergences.finite(2, p, q), 4)
    0.8473
    """
    weights, rows = law("p", p), [law(f"kernel[{i}]", row) for i, row in enumerate(kernel)]
    lengths = {len(row) for row in rows}
    if len(rows) != len(weights) or len(lengths) != 1:
        raise InvalidRequest(
            f"The kernel must have one row for each of the {len(weights)} outcomes of `p`, but has {len(rows)} "
            f"rows of lengths {sorted(lengths)}.",
            "Pass one row of probabilities for each outcome, all of the same length.",
        )
    return [sum((w * row[j] for w, row in zip(weights, rows, strict=True)), Fraction(0)) for j in range(len(rows[0]))]


def _discrete(order: Number, pairs: Iterable[tuple[Fraction, Fraction]]) -> float:
    possible = [(p, q) for p, q in pairs if p > 0]
    if any(q == 0 for _, q in possible):
        return math.inf
    if all(p == q for p, q in possible):
        return 0.0
    weighed = [(p, p / q) for p, q in possible]
    if order == math.inf:
        largest = max(ratio for _, ratio in weighed)
        return _certified(lambda: _log(largest))
    if order == 1:
        return _certified(lambda: _sum_of_logs(weighed))
    excess = decimal(order) - 1
    return _certified(
        lambda: _times(1 / excess, _log_sum_exp([_log(p) + _times(excess, _log(ratio)) for p, ratio in weighed]))
    )


# -- directed rounding: each number is increasing in every rounded part, so the context's direction is the result's


def _certified(divergence: Callable[[], Decimal]) -> float:
    """Return the positive number `divergence()`, rounded up.

    Two directed roundings enclose it; digits are doubled until the enclosure is narrower than 1e-17 of it.
    """
    digits, narrow = 18, False
    traps = [InvalidOperation, DivisionByZero, Overflow]
    while not narrow:
        digits *= 2
        with localcontext(Context(digits, ROUND_FLOOR, MIN_EMIN, MAX_EMAX, traps=traps)) as context:
            low = divergence()
            context.rounding = ROUND_CEILING
            high = divergence()
            narrow = high - low <= high * _WIDTH or high < _BELOW_ALL_FLOATS
    exact = Fraction(high)
    value = up_decimal(exact)
    return value if value >= exact else math.nextafter(value, math.inf)


def _number(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / exact.denominator


def _times(factor: Fraction, value: Decimal) -> Decimal:
    """Return factor·value for `factor` ≥ 0, with directed rounding."""
    return value * factor.numerator / factor.denominator


def _log(exact: Fraction) -> Decimal:
    return Decimal(0) if exact == 1 else _outward(_number(exact).ln())


def _sum_of_logs(parts: Iterable[tuple[Fraction, Fraction]]) -> Decimal:
    """Return Σ weight·log(x), of pairs (weight ≥ 0, x > 0)."""
    return sum((_times(weight, _log(x)) for weight, x in parts), Decimal(0))


def _exp(value: Decimal) -> Decimal:
    return _outward(value.exp())


def _log_sum_exp(exponents: Sequence[Decimal]) -> Decimal:
    """Return log Σ e^exponent, without overflow."""
    largest = max(exponents)
    return largest + _outward(sum((_exp(exponent - largest) for exponent in exponents), Decimal(0)).ln())


def _outward(nearest: Decimal) -> Decimal:
    """Return the next number in the context's direction, as `ln` and `exp` round to the nearest."""
    return nearest.next_plus() if getcontext().rounding == ROUND_CEILING else nearest.next_minus()


# -- validation


def _order(order: object) -> Number:
    if isinstance(order, bool) or not isinstance(order, Real) or not float(order) >= 1:
        raise InvalidRequest(
            f"`order` is {order!r}, but must be at least 1.", "Pass a number of at least 1, or math.inf."
        )
    return order if isinstance(order, Fraction | int) else float(order)


def _check_probability(name: str, value: Number) -> None:
    _validate.finite(**{name: value})
    if not 0 <= value <= 1:
        raise InvalidRequest(f"`{name}` is {value!r}, but must lie between 0 and 1.", "Pass a number from 0 to 1.")


def law(name: str, values: object) -> list[Fraction]:
    """Return probabilities as fractions with the sum 1."""
    if not isinstance(values, Iterable) or isinstance(values, Mapping | Set):
        raise InvalidRequest(
            f"`{name}` is {values!r}, but must be a list of probabilities.", "Pass the probability of each outcome."
        )
    entries = list(values)
    _validate.non_negative(**{f"{name}[{i}]": entry for i, entry in enumerate(entries)})
    exact = [decimal(entry) for entry in entries]
    total = sum(exact, Fraction(0))
    if abs(total - 1) > Fraction(1, 10**9):
        raise InvalidRequest(f"`{name}` sums to {up_decimal(total):.12g} instead of 1.", "Normalise the probabilities.")
    return [entry / total for entry in exact]
