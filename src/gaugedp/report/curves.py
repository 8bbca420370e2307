"""Plots and numbers of guarantees: divergences and trade-offs."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from gaugedp._internal.validate import one_of
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import GaussianDP, Grouped, Guarantee, LaplaceLoss, RandomizedResponseLoss, group_factor
from gaugedp.guarantees.divergences import bernoulli
from gaugedp.report.plots import draw_renyi, draw_tradeoff

_ORDERS = np.geomspace(1, 21, 161)
_DELTA, _ORDER, _RARE = 1e-6, 8.0, 0.01
_HEADS = ("response, p = 0.75", "Laplace, λ = 1", "Gaussian, σ = 1")
_RATES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 60)])
_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 60)])


def _response(p: str) -> Guarantee:
    truth = Fraction(p)
    return RandomizedResponseLoss(bernoulli(math.inf, truth, 1 - truth))


def _laplace(scale: str) -> Guarantee:
    return LaplaceLoss(float(scale))


def _gaussian(std: str) -> Guarantee:
    return GaussianDP(1 / float(std))


_FIGURES: dict[str, tuple[str, str, Callable[[str], Guarantee], tuple[str, ...]]] = {
    "response": ("Randomized response, the truth with probability p", "p", _response, ("0.9", "0.75", "0.6", "0.55")),
    "laplace": ("Laplace noise of scale λ, sensitivity 1", "λ", _laplace, ("0.5", "1", "2", "4")),
    "gaussian": ("Gaussian noise of deviation σ, sensitivity 1", "σ", _gaussian, ("1", "1.5", "2", "4")),
}


def renyi_svg(guarantees: Mapping[str, Guarantee], title: str = "Rényi divergence by order, at most") -> str:
    """Plot the Rényi divergences of up to six guarantees.

    Use it to compare guarantees of different kinds, such as `PureDP` and `ZCDP`. The Rényi divergence of an order
    measures how much the outputs for two neighbouring tables can differ, so a lower curve is a stronger guarantee. The
    horizontal axis shows the order, from 1 to 21, and the vertical axis an upper bound on the divergence in nats. A
    dotted line marks the value at order ∞, which is the pure ε. Infinite values are left out. The function needs the
    extra `report`.

    Parameters
    ----------
    guarantees : mapping of str to Guarantee
        One to six guarantees, by the names that the figure shows.
    title : str
        The title of the figure.

    Returns
    -------
    str
        The figure as SVG text, for a page or a file.
    """
    if not 1 <= len(guarantees) <= 6:
        raise InvalidRequest(
            f"A figure shows 1 to 6 guarantees, but {len(guarantees)} are given.", "Pass 1 to 6, each with a name."
        )
    curves = {}
    for name, guarantee in guarantees.items():
        values = [(float(order), guarantee.renyi(float(order))) for order in _ORDERS]
        curves[name] = [point for point in values if math.isfinite(point[1])]
    return draw_renyi(curves, {name: guarantees[name].renyi(math.inf) for name in guarantees}, title)


def mechanism_curves(kind: str) -> str:
    """Plot the Rényi divergences of a mechanism, as SVG.

    `kind` is "response", "laplace" or "gaussian" (figures 5.1 to 5.3 of Flores López 2023). There is one line for each
    of four noise levels: the divergence of one release at every order from 1 to 21.
    """
    one_of(tuple(_FIGURES), kind=kind)
    title, symbol, mechanism, values = _FIGURES[kind]
    return renyi_svg({f"{symbol} = {value}": mechanism(value) for value in values}, title)


def mechanism_rows() -> list[tuple[str, list[float]]]:
    """Compare three mechanisms by rows (property, numbers).

    The mechanisms are randomized response with p = 0.75, and Laplace and Gaussian noise whose scale is the sensitivity.
    Every number is an upper bound on the leakage (table 5.1 of Flores López 2023).
    """
    guarantees = [_response("0.75"), _laplace("1"), _gaussian("1")]
    rows: dict[str, Callable[[Guarantee], float]] = {
        f"ε at δ = {_DELTA:g}, one release": lambda guarantee: float(guarantee.epsilon(_DELTA)),
        f"ε at δ = {_DELTA:g}, two releases": lambda guarantee: float((2 * guarantee).epsilon(_DELTA)),
        f"ε at δ = {_DELTA:g}, a group of two": lambda guarantee: float(guarantee.group(2).epsilon(_DELTA)),
        "ζ at order 1 (Kullback–Leibler)": lambda guarantee: guarantee.renyi(1),
        f"ζ at order {_ORDER:g}, one release": lambda guarantee: guarantee.renyi(_ORDER),
        f"ζ at order {_ORDER:g}, two releases": lambda guarantee: (2 * guarantee).renyi(_ORDER),
        f"ζ at order {_ORDER:g}, a group of two": lambda guarantee: guarantee.group(2).renyi(_ORDER),
        "  the same from the curve only": lambda guarantee: Grouped(guarantee, 2).renyi(_ORDER),
        "  the same with the published factor 3": lambda guarantee: (
            group_factor(16, 1, "printed") * guarantee.renyi(2 * _ORDER)
        ),
        "ζ at order ∞ (pure ε)": lambda guarantee: guarantee.renyi(math.inf),
        f"an event of {_RARE:.0%} becomes at most, by (ε, δ)": _raised,
        f"an event of {_RARE:.0%} becomes at most, by Rényi": _raised_by_renyi,
    }
    return [(name, [number(guarantee) for guarantee in guarantees]) for name, number in rows.items()]


def mechanism_table() -> str:
    """Return `mechanism_rows` as text."""
    head = f"{'':48}{_HEADS[0]:>20}{_HEADS[1]:>18}{_HEADS[2]:>18}"
    return "\n".join([head, *(f"{name:48}{a:20.4f}{b:18.4f}{c:18.4f}" for name, (a, b, c) in mechanism_rows())])


def _raised(guarantee: Guarantee) -> float:
    """Bound the probability of a 1 % event under a neighbour. The bound uses the profile, over all ε."""
    places = (min(6.0, guarantee.renyi(math.inf)), *np.linspace(0, 6, 301))
    return min(1.0, *(math.exp(place) * _RARE + guarantee.delta(place) for place in places))


def _raised_by_renyi(guarantee: Guarantee) -> float:
    orders = [float(order) for order in np.geomspace(1.01, 1000, 300)]
    return min(1.0, *((math.exp(guarantee.renyi(a)) * _RARE) ** ((a - 1) / a) for a in orders))


def tradeoff_svg(guarantees: Mapping[str, Guarantee]) -> str:
    """Plot how well up to six guarantees protect against tests.

    Use it to show what a guarantee means for an attacker who tests whether one unit is in the data. The horizontal axis
    shows the false-positive rate of the test, and the vertical axis a lower bound on its false-negative rate. The
    larger the area below a curve, the stronger the protection. The dashed line is a guess without data. The curves,
    which are known as trade-off functions, are computed from 61 values of ε. The function needs the extra `report`.

    Parameters
    ----------
    guarantees : mapping of str to Guarantee
        One to six guarantees, by the names that the figure shows.

    Returns
    -------
    str
        The figure as SVG text, for a page or a file.
    """
    if not 1 <= len(guarantees) <= 6:
        raise InvalidRequest(
            f"A figure shows 1 to 6 guarantees, but {len(guarantees)} are given.", "Pass 1 to 6, each with a name."
        )
    curves = {name: _curve(guarantee) for name, guarantee in guarantees.items()}
    return draw_tradeoff(curves, "The least share of members that any test misses")


def _curve(guarantee: Guarantee) -> list[tuple[float, float]]:
    """Return (α, β) from β ≥ 1 − δ − e^ε·α and β ≥ e^−ε·(1 − δ − α)."""
    complements = 1 - np.array([float(guarantee.delta(float(epsilon))) for epsilon in _EPSILONS])
    rates, ratios = _RATES[:, None], np.exp(_EPSILONS)
    missed = np.maximum(complements - ratios * rates, (complements - rates) / ratios).max(axis=1)
    return list(zip(_RATES.tolist(), np.clip(missed, 0.0, 1.0).tolist(), strict=True))
