"""How near is noise to the best possible, by the shape of the sensitivity body?

Random signs, and bodies that are thin; fitted exponents. Writes docs/how-to/geometry.md, its blocks of
docs/benchmarks/queries.md, and docs/images/geometry.svg and geometry_rates.svg, in a minute.

    python benchmarks/geometry.py
"""

import math
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.bounds import lower_bound, staircase_lower_bound

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import pages  # noqa: E402

HOW_TO = ROOT / "docs" / "how-to" / "geometry.md"
ONE = gd.PureDP(1.0)
RANK, SHARES = 20, (2, 4, 8, 16)
CONDITIONS = (1e0, 1e1, 1e2, 1e3, 1e4)


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
    figure.savefig(pages.IMAGES / "geometry_rates.svg", metadata={"Date": None})


def spread(ratios: list[float]) -> str:
    """Return the least and the largest."""
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


GUIDE = """# How to inspect the shape of a query

This guide shows how to find out why a plan selects a mechanism. The [sensitivity body](../reference/bodies.md) of a
query contains every change that one unit can make to the answers, and its shape determines which noise is best. You
compute the volume and the axes of the body, and the errors of the mechanisms. No data is read.

## Print the shape

The following command prints the shape of a query and draws it:

```bash
gaugedp geometry --domain domain.toml --query "SEX; AGEP" --epsilon 0.5 --svg shape.svg
```

The following code inspects a body of three dimensions that you define yourself:

```python
import gaugedp as gd

body = gd.bodies.Polytope.symmetric_hull([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.5, 0.0, 0.2]])
shape = gd.geometry(body, epsilon=1.0)
print(shape.table())
shape.save_svg("shape.svg")
```

```text
{table}
```

![Shadows of the body on the planes of its principal axes, with noise](../images/geometry.svg)

The output lists the size of the body, the error of each mechanism, and a lower bound on the error of all mechanisms:

- The volume is exact, a proved lower bound, or certified with confidence 1 − 10⁻⁹ over a public key.
- The *lower bound* is [proved with its constants](../theory/lower-bound.md), for real-valued data. VolLB and GVolLB
  are orders of magnitude from the literature.
- The deviations are the standard deviations of a uniform point of the body along the principal axes. If they differ
  much, the body is thin.
- The picture shows the planes of the principal axes; `--axes 0,2` shows that of two answers, counted from 0.

For random and for thin bodies, see [errors and bounds](../benchmarks/queries.md#shapes-of-queries).

Written by `python benchmarks/geometry.py`.
"""


def main() -> None:
    random = [random_body(RANK, RANK * share) for share in SHARES]
    thin = [thin_body(condition) for condition in CONDITIONS]
    draw(random, thin)
    shape = gd.geometry(Polytope.symmetric_hull([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.5, 0.0, 0.2]]))
    shape.save_svg(pages.IMAGES / "geometry.svg")
    HOW_TO.write_text(GUIDE.format(table=shape.table()), encoding="utf-8")
    least = [
        f"The error of K-norm noise is {spread([row[0] / row[1] for row in random])} times the lower bound for random "
        f"bodies, and that of NIM {spread([row[1] / row[2] for row in thin])} times for thin ones.",
    ]
    pages.put("queries", "shapes", least)


if __name__ == "__main__":
    main()
