"""How near to the top eigenvector, and to principal components, are private ones?

Rows of norm 1 whose covariance has three spikes; δ = 1e-6, rows are replaced. Lost is λ₁ − vᵀAv, A = Σ xxᵀ/n, a mean
of 20 fits. The noisy power method is written here by hand, with noise for T steps by the same exact calibration, and
its best T after the fact, which nobody who keeps the guarantee can know. Then PCA of scikit-learn's digits, beside
diffprivlib's where that imports (it does with scikit-learn up to 1.7). Writes docs/benchmarks/matrices.md.

    python benchmarks/eigenvectors.py
"""

import math
import signal
import time
import warnings
from importlib.metadata import version

import numpy as np
import pages
from sklearn import decomposition
from sklearn.datasets import load_digits

import gaugedp as gd
from gaugedp.estimators.pca import PCA, TopEigenvector
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization.eigenvectors.oja import Oja

try:
    from diffprivlib import models as peers
except (ImportError, TypeError):
    peers = None

DELTA, ROUNDS, DIGIT_ROUNDS, PEER_ROUNDS, PATIENCE = 1e-6, 20, 10, 3, 15  # seconds for a cell of the peer
CELLS = [  # rows, columns, ε
    (1_000, 10, 0.1), (10_000, 50, 1.0), (10_000, 200, 1.0), (10_000, 500, 1.0),
]  # fmt: skip
POWER_STEPS = (3, 4, 6, 8, 10, 12, 16, 24)


def made(n: int, d: int, key: int = 0) -> np.ndarray:
    rng = np.random.default_rng((n, d, key))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    scales = np.full(d, 0.3 / math.sqrt(d))
    scales[:3] = 1.0, 0.6, 0.4
    rows = (rng.standard_normal((n, d)) * scales) @ turn.T
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def power(square: np.ndarray, steps: int, mu: float, rng: np.random.Generator) -> np.ndarray:
    """The noisy power method, A = Σ xxᵀ: a row moves a product by 1."""
    point = rng.standard_normal(len(square))
    for _ in range(steps):
        point = square @ point / np.linalg.norm(point) + rng.standard_normal(len(square)) * math.sqrt(steps) / mu
    return point / np.linalg.norm(point)


def cell(n: int, d: int, epsilon: float) -> dict[str, float]:
    rows, mu, rng = made(n, d), gaussian_mu(epsilon, DELTA), np.random.default_rng((n, d))
    square = rows.T @ rows
    top, stream = float(np.linalg.eigvalsh(square)[-1]), gd.research_rng(7)

    def lost(find, count: int = ROUNDS) -> float:
        count = max(3, count // 4) if d > 200 else count
        return float(np.mean([top - v @ square @ v for v in (find() for _ in range(count))])) / n

    def fitted(solver: str, delta: float = DELTA) -> np.ndarray:
        return TopEigenvector(epsilon, delta, neighbours="replace", row_norm=1.0, solver=solver).fit(rows).component_

    start = time.perf_counter()
    fitted("gaussian")
    results = {"seconds": time.perf_counter() - start, "gaussian": lost(lambda: fitted("gaussian"))}
    results["oja"] = lost(lambda: fitted("oja"), ROUNDS // 2)
    results["pure"] = lost(lambda: fitted("exponential", 0.0))
    powers = {steps: lost(lambda steps=steps: power(square, steps, mu, rng)) for steps in POWER_STEPS}
    results["best"] = min(powers, key=powers.__getitem__)
    results["power"] = powers[results["best"]]
    results["printed"] = lost(lambda: Oja.printed(d, 100, epsilon, DELTA).solve(rows, stream).vectors[0], 3)
    results["random"] = lost(lambda: power(square * 0, 1, mu, rng))
    return results


def vectors() -> list[str]:
    lines = [
        "| rows | columns | ε | `gaussian` | `oja` | noisy power, best T | ratio to `gaussian` | Oja as published "
        "| random | `exponential` |",
        "|" + "---:|" * 10,
    ]
    for n, d, epsilon in CELLS:
        one = cell(n, d, epsilon)
        lines.append(
            f"| {n:,} | {d} | {epsilon:g} | {one['gaussian']:.2g} | {one['oja']:.2g} | "
            f"{one['power']:.2g} (T = {one['best']}) | {one['power'] / one['gaussian']:.1f} | {one['printed']:.2g} | "
            f"{one['random']:.2g} | {one['pure']:.2g} |"
        )
        print(lines[-1], flush=True)
    return lines


def held(rows: np.ndarray, components: np.ndarray) -> float:
    """The share of the rows' variance within the span of the components (k, d)."""
    centred, frame = rows - rows.mean(axis=0), np.linalg.qr(components.T)[0]
    return float(((centred @ frame) ** 2).sum() / (centred**2).sum())


def ours_on(rows: np.ndarray, k: int, epsilon: float, **given) -> float:
    fits = [
        PCA(k, epsilon, neighbours="replace", bounds=(0, 16), random_state=key, **given).fit(rows)
        for key in range(DIGIT_ROUNDS)
    ]
    return float(np.mean([held(rows, fit.components_) for fit in fits]))


def peer_on(rows: np.ndarray, k: int, epsilon: float) -> str:
    if peers is None:
        return "–"

    def stop(*_) -> None:
        raise TimeoutError

    longest, result = 16 * math.sqrt(rows.shape[1]), []
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        for key in range(PEER_ROUNDS):
            model = peers.PCA(k, epsilon=epsilon, bounds=(0, 16), data_norm=longest, random_state=key)
            result.append(held(rows, model.fit(rows.copy()).components_))  # it works in place
    except TimeoutError:
        return f"over {PATIENCE} s"
    finally:
        signal.alarm(0)
    return f"{np.mean(result):.3f}"


def digits() -> list[str]:
    rows = load_digits().data
    lines = [
        "| components | ε | without privacy | (ε, 1e-6), private mean | (ε, 1e-6), public centre | ε, δ = 0 | "
        "diffprivlib, ε | random |",
        "|" + "---:|" * 8,
    ]
    for k, epsilon in ((1, 1.0), (5, 1.0), (10, 1.0), (5, 4.0)):
        mean = ours_on(rows, k, epsilon, delta=DELTA)
        middle = ours_on(rows, k, epsilon, delta=DELTA, centre="public")
        pure = ours_on(rows, k, epsilon, delta=0.0)
        best = held(rows, decomposition.PCA(k).fit(rows).components_)
        lines.append(
            f"| {k} | {epsilon:g} | {best:.3f} | {mean:.3f} | {middle:.3f} | {pure:.3f} | "
            f"{peer_on(rows, k, epsilon)} | {k / 64:.3f} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    warnings.filterwarnings("ignore")
    peer = (
        f"diffprivlib {version('diffprivlib')}: its Bingham sampler divides where its source multiplies, and does "
        "not satisfy its ε (`tests/optimization/test_eigen.py`)." if peers
        else "diffprivlib did not import and is left out."
    )  # fmt: skip
    pages.put("matrices", "vectors", vectors())
    pages.put("matrices", "digits", [*digits(), "", peer])


if __name__ == "__main__":
    main()
