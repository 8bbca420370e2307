"""How much do three basic mechanisms tell, order by order? Figures and a table, from the library's certified curves.

Chapter 5 of R. Flores López, Una introducción a la privacidad diferencial aproximada y de Rényi (UNAM 2023) draws the
Rényi budget of randomized response, Laplace noise and Gaussian noise against the order, and compares them with (ε, δ)
in a table. This makes the figures and a table of numbers again, and says what is wrong in the source.

    python examples/renyi_mechanisms.py [--out DIR] [--format svg]

Writes renyi_response, renyi_laplace and renyi_gaussian into DIR and prints the table. Needs matplotlib.
"""

import argparse
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gaugedp import GaussianDP
from gaugedp.guarantees import Grouped, Guarantee, LaplaceLoss, RandomizedResponseLoss, divergences, group_factor

DELTA, ORDER, RARE = 1e-6, 8.0, 0.01
ORDERS = np.geomspace(1, 21, 161)
COLOURS = ("#0b5fa5", "#b93a0a", "#0b7a53", "#7a3fb0")
INK, FAINT = "#1d232b", "#e3e1da"
SOURCE_ERRORS = """What is wrong in the source:
- The order-1 budget of wide Laplace noise is about 0.5/λ², not 0.5/λ: at λ = 100 it is {laplace:.3g}, not 0.005.
- The largest loss is a supremum over what P can produce, not Q. An outcome that Q cannot produce makes it infinite.
- Randomized response: the ratio is bounded for the same outcome, and it is at most e^ε, not equal to it.
- Laplace and Gaussian: neighbours' answers differ by at most 1, not by less; the budget grows with the difference.
- The loss of Laplace noise is 1/λ for outputs below both answers, and smaller between them: not for every output.
- σ ≥ √(2·log(1.25/δ))·Δ/ε keeps (ε, δ) for ε < 1 only. Calibrate with gaussian_std.
- Groups of 2^c: 3^c times the budget is more than needed; the noise is known, so its sensitivity is multiplied.
- The conclusions call the figure of randomized response linear. The Gaussian one is."""


def response(p: str) -> Guarantee:
    """The truth is told with probability `p`."""
    truth = Fraction(p)
    return RandomizedResponseLoss(divergences.bernoulli(math.inf, truth, 1 - truth))


def laplace(scale: str) -> Guarantee:
    return LaplaceLoss(float(scale))


def gaussian(std: str) -> Guarantee:
    return GaussianDP(1 / float(std))


FIGURES = {
    "response": ("Randomized response, the truth with probability p", "p", response, ("0.9", "0.75", "0.6", "0.55")),
    "laplace": ("Laplace noise of scale λ, sensitivity 1", "λ", laplace, ("0.5", "1", "2", "4")),
    "gaussian": ("Gaussian noise of deviation σ, sensitivity 1", "σ", gaussian, ("1", "1.5", "2", "4")),
}


def draw(kind: str) -> Figure:
    """Return budget against order, one line for each parameter, its limit at infinite order dotted."""
    title, symbol, mechanism, values = FIGURES[kind]
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for value, colour in zip(values, COLOURS, strict=True):
        guarantee = mechanism(value)
        axes.plot(ORDERS, [guarantee.renyi(order) for order in ORDERS], color=colour, linewidth=2)
        label(axes, guarantee, f"{symbol} = {value}", colour)
    dress(axes, title if kind == "gaussian" else f"{title}; dotted: its pure ε")
    return figure


def label(axes: Axes, guarantee: Guarantee, text: str, colour: str) -> None:
    """Write beside the end of the line, and mark where it goes for large orders."""
    limit = guarantee.renyi(math.inf)
    if math.isfinite(limit):
        axes.axhline(limit, color=colour, linewidth=1, linestyle=(0, (1, 3)))
        text += f" (ε = {limit:.2f})"
    end = ORDERS[-1], guarantee.renyi(ORDERS[-1])
    axes.annotate(text, end, (6, 0), textcoords="offset points", color=colour, va="center")


def dress(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", color=INK)
    axes.set_xlabel("order α of the Rényi divergence")
    axes.set_ylabel("budget ζ in nats")
    axes.set_xlim(1, ORDERS[-1])
    axes.set_ylim(bottom=0)
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.grid(color=FAINT, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)


def raised(guarantee: Guarantee) -> float:
    """The most that an event of probability RARE can have under a neighbour: by the profile, over all ε."""
    return min(
        1.0,
        *(
            math.exp(e) * RARE + guarantee.delta(e)
            for e in (min(6.0, guarantee.renyi(math.inf)), *np.linspace(0, 6, 301))
        ),
    )


def raised_by_renyi(guarantee: Guarantee) -> float:
    """The same by probability preservation, over many orders."""
    orders = [float(order) for order in np.geomspace(1.01, 1000, 300)]
    return min(1.0, *((math.exp(guarantee.renyi(a)) * RARE) ** ((a - 1) / a) for a in orders))


def table() -> list[tuple[str, list[float]]]:
    """Rows (property, its number for each of three mechanisms)."""
    guarantees = [response("0.75"), laplace("1"), gaussian("1")]
    rows = {
        f"ε at δ = {DELTA:g}, one release": lambda one: float(one.epsilon(DELTA)),
        f"ε at δ = {DELTA:g}, two releases": lambda one: float((2 * one).epsilon(DELTA)),
        f"ε at δ = {DELTA:g}, a group of two": lambda one: float(one.group(2).epsilon(DELTA)),
        "ζ at order 1 (Kullback–Leibler)": lambda one: one.renyi(1),
        f"ζ at order {ORDER:g}, one release": lambda one: one.renyi(ORDER),
        f"ζ at order {ORDER:g}, two releases": lambda one: (2 * one).renyi(ORDER),
        f"ζ at order {ORDER:g}, a group of two": lambda one: one.group(2).renyi(ORDER),
        "  the same from the curve alone": lambda one: Grouped(one, 2).renyi(ORDER),
        "  the same with the printed factor 3": lambda one: group_factor(16, 1, "printed") * one.renyi(2 * ORDER),
        "ζ at order ∞ (pure ε)": lambda one: one.renyi(math.inf),
        f"an event of {RARE:.0%} becomes at most, by (ε, δ)": raised,
        f"an event of {RARE:.0%} becomes at most, by Rényi": raised_by_renyi,
    }
    return [(name, [number(one) for one in guarantees]) for name, number in rows.items()]


def printed(rows: list[tuple[str, list[float]]]) -> str:
    head = f"{'':48}{'response, p = 0.75':>20}{'Laplace, λ = 1':>18}{'Gaussian, σ = 1':>18}"
    return "\n".join([head, *(f"{name:48}{a:20.4f}{b:18.4f}{c:18.4f}" for name, (a, b, c) in rows)])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Draw the Rényi budgets of three mechanisms and print a table.")
    parser.add_argument("--out", type=Path, default=Path(), help="the folder for the figures")
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    undated = {"Date": None} if chosen.format == "svg" else {}
    for kind in FIGURES:
        with rc_context({"svg.hashsalt": kind, "text.color": INK, "axes.labelcolor": INK, "font.size": 11}):
            draw(kind).savefig(chosen.out / f"renyi_{kind}.{chosen.format}", dpi=144, metadata=undated)
    print(printed(table()))
    print(SOURCE_ERRORS.format(laplace=laplace("100").renyi(1)))


if __name__ == "__main__":
    main()
