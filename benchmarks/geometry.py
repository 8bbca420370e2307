"""How near is noise to the best possible, by the shape of the sensitivity body?

Random signs, and bodies that are thin; fitted exponents; the README's questions with one proved volume, and with all
that is known. Writes docs/how-to/geometry.md, docs/benchmarks/geometry.md, and docs/images/geometry.svg and
geometry_rates.svg, in a minute.

    python benchmarks/geometry.py
"""

import math
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
import numpy as np

import gaugedp as gd
from gaugedp.bodies import Polytope, image, volume
from gaugedp.bounds import bound_from_volume, lower_bound, staircase_lower_bound
from gaugedp.bounds.projected import nested_bounds

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(ROOT / "docs" / folder / "geometry.md" for folder in ("how-to", "benchmarks"))
IMAGES = ROOT / "docs" / "images"
ONE = gd.PureDP(1.0)
RANK, SHARES = 20, (2, 4, 8, 16)
DIMENSIONS = (4, 8, 12, 16, 20)
CONDITIONS = (1e0, 1e1, 1e2, 1e3, 1e4)
QUESTIONS = ("SEX; SEX*AGEP", "SEX; SEX*AGEP; mean(PINCP) by SEX")


def signs(d: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1


def random_body(d: int, n: int) -> list[float]:
    body = Polytope.symmetric_hull(signs(d, n))
    return [gd.KNorm.calibrate(body, ONE).error(), float(lower_bound(body, 1.0))]


def thin_body(condition: float) -> list[float]:
    """K-norm, NIM, the bound from shadows, the bound from the volume alone."""
    lengths = np.geomspace(1, 1 / condition, 8)
    body = Polytope.symmetric_hull(lengths[:, None] * signs(8, 12))
    errors = [kind.calibrate(body, ONE).error() for kind in (gd.KNorm, gd.NIM)]
    return [*errors, float(lower_bound(body, 1.0)), float(staircase_lower_bound(body, 1.0))]


def exponents(places: list[float], rows: list[list[float]]) -> list[float]:
    """Return for each column of the rows the slope of its logarithm over that of the place, by least squares."""
    return [float(slope) for slope in np.polyfit(np.log(places), np.log(rows), 1)[0]]


def question(text: str) -> str:
    """Return a row for a question of the README, at ε = 0.5."""
    domain_file = re.search(r"```toml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert domain_file
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "domain.toml"
        path.write_text(domain_file[1], "utf-8")
        domain, unit = gd.Domain.load(path), gd.PrivacyUnit.load(path)
    requested = gd.query(domain, text)
    plan = gd.plan(requested, unit, epsilon=0.5)
    weights, body = requested.errors.weights, requested.sensitivity(unit)
    body = body if weights is None else image(body, np.diag(1 / weights))
    singles = [bound for bound in nested_bounds(body, 0.5) if bound.confidence == 1]
    before = max(*singles, bound_from_volume(volume(body), body.rank, 0.5))
    after = plan.real_lower_bound
    return (
        f"| `{text}` | {plan.mechanism.name} {plan.error:.4g} | {before:.4g} | {plan.error / before:.3g} "
        f"| {after:.4g} | {plan.error / after:.3g} |"
    )


def exponent(value: float) -> str:
    """Return two decimals, with a minus sign and no hyphen."""
    return f"{value:.2f}".replace("-", "−")


def draw(random: list[list[float]], thin: list[list[float]]) -> None:
    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "geometry_rates", "svg.fonttype": "none"}
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for values, label in zip(zip(*random, strict=True), ("KNorm", "lower bound"), strict=True):
        left.loglog(SHARES, values, "o-", label=label)
    roots = [math.sqrt(1 + math.log(share)) for share in SHARES]
    left.loglog(
        SHARES, [random[-1][1] * root / roots[-1] for root in roots], ":", color="grey", label="√(1 + log(n/d))"
    )
    left.set(xlabel=f"n/d, d = {RANK}, random signs", ylabel="expected error at ε = 1")
    names = ("KNorm", "NIM", "lower bound, shadows together", "lower bound, volume alone")
    for values, label in zip(zip(*thin, strict=True), names, strict=True):
        right.loglog(CONDITIONS, values, "o-", label=label)
    right.set(xlabel="longest over shortest, rank 8")
    for axes in (left, right):
        axes.grid(which="both", alpha=0.25)
        axes.legend(frameon=False)
    left.set_yticks([20, 30, 40, 50], ["20", "30", "40", "50"])
    left.set_yticks([], minor=True)
    left.set_xticks(SHARES, [str(share) for share in SHARES])
    left.set_xticks([], minor=True)
    figure.savefig(IMAGES / "geometry_rates.svg", metadata={"Date": None})


def table(heads: tuple[str, ...], places: Iterable[float], rows: list[list[float]]) -> str:
    """Return a table of numbers, one place a row."""
    numbers = [[place, *row] for place, row in zip(places, rows, strict=True)]
    lines = ["| " + " | ".join(f"{number:.3g}" for number in row) + " |" for row in numbers]
    return "\n".join([f"| {' | '.join(heads)} |", "|" + "---:|" * len(heads), *lines])


def page() -> tuple[str, str]:
    """Return the guide, and the page of figures."""
    random = [random_body(RANK, RANK * share) for share in SHARES]
    wide = [random_body(d, 10 * d) for d in DIMENSIONS]
    thin = [thin_body(condition) for condition in CONDITIONS]
    draw(random, thin)
    shape = gd.geometry(Polytope.symmetric_hull([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.5, 0.0, 0.2]]))
    shape.save_svg(IMAGES / "geometry.svg")
    by_share = exponents([1 + math.log(share) for share in SHARES], random)
    by_d = exponents([float(d) for d in DIMENSIONS], wide)
    falls = [exponent(slope) for slope in exponents(list(CONDITIONS), thin)]
    near = [row[1] / row[2] for row in thin]
    cube = gd.Cube.calibrate(Polytope.symmetric_hull(signs(RANK, 2 * RANK)), ONE).error()
    random_rows = [[*row, row[0] / row[1]] for row in random]
    thin_rows = [[*row, row[1] / row[2]] for row in thin]
    return (
        f"""# How to inspect the shape of a query

The [sensitivity body](../theory/bodies.md) of a query contains every change that one unit can make to the answers. Its
shape determines which noise is best. At the end of this page you can compute its volume, its axes and the errors of the
mechanisms. No data is read.

## Print the shape

```bash
gaugedp geometry --domain domain.toml --query "SEX; AGEP" --epsilon 0.5 --svg shape.svg
```

```python
import gaugedp as gd

body = gd.bodies.Polytope.symmetric_hull([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.5, 0.0, 0.2]])
shape = gd.geometry(body, epsilon=1.0)
print(shape.table())
shape.save_svg("shape.svg")
```

```text
{shape.table()}
```

![Shadows of the body on the planes of its principal axes, with noise](../images/geometry.svg)

- The volume is exact, bounded from below by a proof, or certified with confidence 1 − 10⁻⁹ over a public key.
- VolLB is r·√r times the r-th root of the volume over ε for rank r, and GVolLB its largest value over shadows: orders
  of magnitude from the literature. The *lower bound* is [proved with its constants](../theory/lower-bound.md), for
  real-valued data.
- The deviations are those of a uniform point of the body along its principal axes. If they differ much,
  the body is thin.
- The picture shows the planes of the principal axes; `--axes 0,2` shows that of two answers, counted from 0.

See [bounds and errors](../benchmarks/geometry.md) for random and for thin bodies, and for the queries of the README.

Written by `python benchmarks/geometry.py`.
""",
        f"""# Shapes of queries, errors and bounds

[`gaugedp geometry`](../how-to/geometry.md) shows the shape of a query. This page compares errors with bounds for random
and for thin bodies. Errors are expected ℓ₂ norms.

![Errors and bounds of random bodies by n/d, and of thin ones by condition](../images/geometry_rates.svg)

**Random bodies.** Signs ±1, {RANK} answers about n cells, ε = 1. Hardt and Talwar 2010 bound the error by the order of
d·√log(n/d). The fitted exponent of 1 + log(n/d) is {by_share[0]:.2f} for K-norm noise and {by_share[1]:.2f} for the
bound, and that of d, at n = 10·d for d from {DIMENSIONS[0]} to {DIMENSIONS[-1]}, {by_d[0]:.2f} and {by_d[1]:.2f}. The
rate has 0.5 and 1 and is asymptotic. In few dimensions the body soon fills the cube [−1, 1]^d, whose error of order
d·√d is an upper limit: here {cube:.3g}.

{table(("n/d", "KNorm", "lower bound", "ratio"), SHARES, random_rows)}

**Thin bodies.** Rank 8, 12 columns of signs, rows scaled from 1 down to 1/condition. With the condition, the bound from
the volume alone falls with the exponent {falls[3]}, the bound from shadows together with {falls[2]}, K-norm
noise with {falls[0]}, and [NIM](../theory/nim.md) with {falls[1]}: it is at {min(near):.2f} to
{max(near):.2f} times the bound.

{table(("condition", "KNorm", "NIM", "lower bound", "volume alone", "NIM over the bound"), CONDITIONS, thin_rows)}

## Compare with the bounds of a plan

For the queries of the README at ε = 0.5: the bound from the best single proved volume, and the bound that a plan
prints, which combines shadows and uses volumes from draws:

| query | chosen, expected error | one proved volume | ratio | all together | ratio |
|---|---|---:|---:|---:|---:|
{chr(10).join(map(question, QUESTIONS))}

Written by `python benchmarks/geometry.py`.
""",
    )


def main() -> None:
    for path, text in zip(PAGES, page(), strict=True):
        print(text)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
