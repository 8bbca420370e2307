"""What do the special cases of the tight accountant save, against the line alone?

Prints δ at an ε with each special case of docs/theory/accountant.md and without it.

    python benchmarks/special_cases.py
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from gaugedp import guarantees as g
from gaugedp.accountant import tight
from gaugedp.accountant.bound import Bound

CASES: list[tuple[str, str, str, g.Guarantee, float]] = [
    (
        "all losses written out",
        "explicit_distribution",
        "2 `FiniteLoss` of three outcomes and a response",
        2 * g.FiniteLoss([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]) + g.RandomizedResponseLoss(0.7),
        1.0,
    ),
    (
        "",
        "explicit_distribution",
        "4 different `PureDP` and `DiscreteLaplaceLoss(4.66, 6)`",
        g.compose([*((g.PureDP(e), 1) for e in (0.1234, 0.2345, 0.3457, 0.4569)), (g.DiscreteLaplaceLoss(4.66, 6), 1)]),
        1.0,
    ),
    ("residues", "residues", "2 `LaplaceLoss(1)`", 2 * g.LaplaceLoss(1), 1.0),
    ("", "residues", "12 `LaplaceLoss(2)`", 12 * g.LaplaceLoss(2), 4.0),
    ("", "residues", "100 `LaplaceLoss(10)`", 100 * g.LaplaceLoss(10), 3.0),
    ("faint noise", "blurred", "2 `SubsampledGaussian(0.2, 0.049)`", 2 * g.SubsampledGaussian(0.2, 0.049), 1.0),
    ("", "blurred", "10 `SubsampledGaussian(0.2, 0.005)`", 10 * g.SubsampledGaussian(0.2, 0.005), 1.0),
    ("cells", "_few", "3 `SubsampledGaussian(0.2, 0.5)`", 3 * g.SubsampledGaussian(0.2, 0.5), 1.0),
    ("", "_few", "2 `SubsampledGaussian(0.00376, 0.6)`", 2 * g.SubsampledGaussian(0.00376, 0.6), 0.0),
]


@contextmanager
def without(name: str) -> Iterator[None]:
    """Leave out a special case of `tight`."""
    special = getattr(tight, name)
    setattr(tight, name, lambda *_: None)
    try:
        yield
    finally:
        setattr(tight, name, special)


def timed(whole: g.Guarantee, epsilon: float) -> tuple[Bound, float]:
    """Return δ, and the least seconds of the processor of three times."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        delta = whole.delta(epsilon, "tight")
        seconds.append(time.process_time() - start)
    return delta, min(seconds)


def share(number: float) -> str:
    """Return a share with one digit; rounding alone is about 1e-12."""
    return f"{number:.0e}".replace("e-0", "e−").replace("e-", "e−") if abs(number) > 1e-11 else "below 1e−11"


def width(delta: Bound) -> str:
    """Return how wide the bracket is; of pairs that are above the mechanism's own nothing is certified from below."""
    return share(1 - delta.low / delta) if delta.low else "—"


def main() -> None:
    """Print the table."""
    print("| special case | releases, ε | above it | width of the bracket | with it | seconds with it and without |")
    print("|---|---|---:|---:|---:|---:|")
    for case, name, releases, whole, epsilon in CASES:
        best, seconds = timed(whole, epsilon)
        with without(name):
            line, more_seconds = timed(whole, epsilon)
        times = f"{seconds:.1g}, {more_seconds:.1g}"
        row = (case, f"{releases}, {epsilon:g}", share(line / best - 1), width(line), width(best), times)
        print(f"| {' | '.join(row).strip()} |")


if __name__ == "__main__":
    main()
