"""How many keys are shown, beside the most that any selection of single keys can show, and beside others by hand?

Zipf's law and the industry codes of the American Community Survey. The largest number is Σ π(n) over the keys, with the
optimal π of the closed form (Desfontaines, Voss, Gipson and Mandayam 2022, theorem 1), computed here anew. Releases are
drawn 400 times from the counts of the table. Fails where the mean is further than 2 % from the optimum. Writes
docs/benchmarks/synthetic_rows.md.

    python benchmarks/unknown_keys.py
"""

import math
from pathlib import Path

import numpy as np
import pages
import pandas as pd
import scipy

import gaugedp as gd
from gaugedp.tables.keys import count_keys

ROOT = Path(__file__).resolve().parents[1]
TIMES, WITHIN = 400, 0.02
ASKED = ((1.0, 1e-6), (0.3, 1e-8))


def main() -> None:
    """Write the page."""
    tables = {"Zipf, 100,000 people": zipf(100_000), "industries, ACS 2018": industries()}
    rows = [line(name, counts_of(keys), *requested) for name, keys in tables.items() for requested in ASKED]
    head = "| categories | ε | δ | in the table | optimum | shown | shown over optimum | Laplace | Gaussian |"
    pages.put("synthetic_rows", "selection", [head, "|---|" + "---:|" * 8, *rows])


def zipf(n_people: int) -> np.ndarray:
    """Return a key for each person, by Zipf's law with the exponent 1.2, cut at a million."""
    numbers = np.random.default_rng(2026).zipf(1.2, 3 * n_people)
    return numbers[numbers <= 10**6][:n_people].astype(str)


def industries() -> np.ndarray:
    """Return the industry code of each person who has one."""
    frame = pd.read_csv(ROOT / "examples" / "acs" / "acs_ma2018.csv", dtype=str)
    return frame["INDP"][frame["INDP"] != "N"].to_numpy()


def counts_of(keys: np.ndarray) -> np.ndarray:
    """Return the counts that a release of keys sees."""
    domain = gd.Domain.of(KEY=gd.unknown_keys(100_000))
    table = gd.Table.scan(pd.DataFrame({"KEY": keys}), domain=domain, name="keys")
    return count_keys(table, "KEY", b"k")[1]


def line(name: str, counts: np.ndarray, epsilon: float, delta: float) -> str:
    """Return one line of the first table."""
    most = float(optimum(counts, epsilon, delta).sum())
    selection = gd.PartitionSelection.calibrate(1, gd.ApproxDP(epsilon, delta))
    shown = (selection.draw(counts, TIMES, gd.research_rng(2026)) > 0).sum(axis=1)
    ratio, error = shown.mean() / most, shown.std() / math.sqrt(TIMES) / most
    if abs(ratio - 1) > WITHIN:
        raise SystemExit(f"{name}: {shown.mean()} keys on average, and {most} are the most.")
    laplace, gauss = laplace_by_hand(counts, epsilon, delta).sum(), gaussian_by_hand(counts, epsilon, delta).sum()
    cells = (
        *(name, f"{epsilon:g}", f"{delta:g}", f"{len(counts):,}", f"{most:,.1f}", f"{shown.mean():,.1f}"),
        *(f"{ratio:.4f} ± {2 * error:.4f}", f"{laplace:,.1f}", f"{gauss:,.1f}"),
    )
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def optimum(counts: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    """Return the largest chances of the counts, by the closed form."""
    grow = math.exp(epsilon)
    first = 1 + math.floor(math.log((grow + 2 * delta - 1) / (delta * (grow + 1))) / epsilon)
    rising = np.expm1(epsilon * np.minimum(counts, first)) / (grow - 1) * delta
    shrunk = np.exp(-epsilon * np.maximum(counts - first, 0))
    falling = (1 - shrunk) * (1 + delta / (grow - 1)) + shrunk * rising
    return np.where(counts <= first, rising, np.minimum(1.0, falling))


def laplace_by_hand(counts: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    """Return the chances under Laplace noise of scale 1/ε and the threshold 1 + log(1/(2δ))/ε."""
    over = epsilon * (counts - 1) - math.log(1 / (2 * delta))
    return np.where(over < 0, np.exp(np.minimum(over, 0)) / 2, 1 - np.exp(-np.maximum(over, 0)) / 2)


def gaussian_by_hand(counts: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    """Return the chances under Gaussian noise with half of δ for the noise and half for the threshold."""
    std = 1 / gd.guarantees.gaussian_curve.gaussian_mu(epsilon, delta / 2)
    return scipy.special.ndtr((counts - 1) / std + scipy.special.ndtri(delta / 2))


if __name__ == "__main__":
    main()
