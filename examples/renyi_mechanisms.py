"""How much do three basic mechanisms tell, order by order? Figures and a table, from the library's certified curves.

Chapter 5 of R. Flores López, Una introducción a la privacidad diferencial aproximada y de Rényi (UNAM 2023) draws the
Rényi budget of randomized response, Laplace noise and Gaussian noise against the order, and compares them with (ε, δ)
in a table. This makes the figures and a table of numbers again, by `gaugedp.report`, and says what is wrong in the
source.

    python examples/renyi_mechanisms.py [--out DIR]

Writes renyi_response.svg, renyi_laplace.svg and renyi_gaussian.svg into DIR and prints the table. Needs matplotlib.
"""

import argparse
from pathlib import Path

from gaugedp.guarantees import LaplaceLoss
from gaugedp.report import mechanism_curves, mechanism_table

SOURCE_ERRORS = """What is wrong in the source:
- The order-1 budget of wide Laplace noise is about 0.5/λ², not 0.5/λ: at λ = 100 it is {laplace:.3g}, not 0.005.
- The largest loss is a supremum over what P can produce, not Q. An outcome that Q cannot produce makes it infinite.
- Randomized response: the ratio is bounded for the same outcome, and it is at most e^ε, not equal to it.
- Laplace and Gaussian: neighbours' answers differ by at most 1, not by less; the budget grows with the difference.
- The loss of Laplace noise is 1/λ for outputs below both answers, and smaller between them: not for every output.
- σ ≥ √(2·log(1.25/δ))·Δ/ε keeps (ε, δ) for ε < 1 only. Calibrate with gaussian_std.
- Groups of 2^c: 3^c times the budget is more than needed; the noise is known, so its sensitivity is multiplied.
- The conclusions call the figure of randomized response linear. The Gaussian one is."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Draw the Rényi budgets of three mechanisms and print a table.")
    parser.add_argument("--out", type=Path, default=Path(), help="the folder for the figures")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    for kind in ("response", "laplace", "gaussian"):
        (chosen.out / f"renyi_{kind}.svg").write_text(mechanism_curves(kind), encoding="utf-8")
    print(mechanism_table())
    print(SOURCE_ERRORS.format(laplace=LaplaceLoss(100.0).renyi(1)))


if __name__ == "__main__":
    main()
