"""Is noisy gradient descent (DP-SGD) better than our logistic regression on ordinary tables?

Public tables of classes (benchmarks/ten_tables.py): three that come with scikit-learn and the repository, and seven
more where a folder with them is named. Each is split at random into 70 % for fitting and 30 % for judging without
privacy; rows are added or removed, δ = 1e-5, and the number of rows is public. All methods get the same rows.
Ours is LogisticRegression with default settings. Full-batch noisy descent on the cross-entropy clips the gradient of
each row, adds normal noise, and takes 18 settings of steps, rate and clipping: one setting for all, the best on average
over the tables; the setting chosen within (ε, δ), by the best of a random number of fits; and for each table the
setting that is best on the judged rows themselves, which nobody can know. Opacus trains the same model by small
batches, with its own accountant, in four settings and on the first two splits; the best on the judged rows is shown.

    python benchmarks/noisy_descent.py [FOLDER [SPLITS]]    of adult.csv and the tables of Rdatasets; 5 splits

Writes docs/benchmarks/models.md; takes half an hour of one core for ten tables, five minutes for three.
"""

import itertools
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pages
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.model_selection import StratifiedShuffleSplit
from ten_tables import Table, tables

import gaugedp as gd
from gaugedp.entropy import Entropy
from gaugedp.estimators import LogisticRegression
from gaugedp.estimators.random_stopping import RandomStopping
from gaugedp.optimization.lattice import for_gaussian_releases

try:
    import torch
    from opacus import PrivacyEngine
except ImportError:
    torch = None

DELTA, EPSILONS, FEW = 1e-5, (0.1, 0.5, 1.0, 4.0, 8.0), (0.1, 1.0, 8.0)  # Opacus is slow: it has the few
PEER_SPLITS = 2
DRAWS = 18  # fits of a search, on average
HELD, SCORED = 0.2, 0.1  # rows that a search holds out, and the part of ε that a score of it has


@dataclass(frozen=True)
class Setting:
    """Steps, the length of a step for a mean of clipped gradients of length 1, and where gradients are clipped."""

    steps: int
    rate: float
    clip: float


SETTINGS = [Setting(*each) for each in itertools.product((10, 50, 200), (0.2, 1.0, 5.0), (0.3, 1.0))]
PEER_SETTINGS = list(itertools.product((5, 20), (0.5, 2.0)))  # passes over the rows, rate
Half = tuple[np.ndarray, np.ndarray]


def with_constant(rows: np.ndarray) -> np.ndarray:
    return np.hstack([rows, np.ones((len(rows), 1))])


def descent(half: Half, n_classes: int, setting: Setting, mu: float, rng: np.random.Generator) -> np.ndarray:
    """Return weights (d + 1, K) after noisy steps that together are μ-GDP for a row added or removed."""
    rows, labels = with_constant(half[0]), np.eye(n_classes)[half[1]]
    lengths, weights = np.linalg.norm(rows, axis=1), np.zeros((rows.shape[1], n_classes))
    noise = np.sqrt(setting.steps) / mu
    for _ in range(setting.steps):
        slopes = softmax(rows @ weights, axis=1) - labels
        norms = lengths * np.linalg.norm(slopes, axis=1)
        slopes /= np.maximum(norms, setting.clip)[:, None]
        weights -= setting.rate * (rows.T @ slopes + noise * rng.standard_normal(weights.shape)) / len(rows)
    return weights


def accuracy(weights: np.ndarray, half: Half) -> float:
    return float(np.mean(np.argmax(with_constant(half[0]) @ weights, axis=1) == half[1]))


def searched(half: Half, n_classes: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Return the weights of a setting that was chosen within (ε, δ)."""
    total, stopping = gd.ApproxDP(epsilon, DELTA), RandomStopping(DRAWS)
    each = stopping.largest(total, for_gaussian_releases)
    score_epsilon = stopping.largest(gd.PureDP(epsilon)).epsilon_value
    is_held = rng.random(len(half[0])) < HELD
    fitting, held = (tuple(part[choice] for part in half) for choice in (~is_held, is_held))
    best, weights = -np.inf, np.zeros((half[0].shape[1] + 1, n_classes))
    for _ in range(stopping.count(Entropy(int(rng.integers(2**32))))):
        setting = SETTINGS[rng.integers(len(SETTINGS))]
        run = descent(fitting, n_classes, setting, for_gaussian_releases(each).mu, rng)
        score = accuracy(run, held) + rng.laplace(scale=1 / (score_epsilon * len(held[0])))
        if score > best:
            best, weights = score, run
    return weights


def peer(half: Half, n_classes: int, epsilon: float, passes: int, rate: float) -> np.ndarray:
    """Return the weights of Opacus, batches of a twentieth of the rows and 64 at least."""
    rows = torch.utils.data.TensorDataset(torch.tensor(half[0], dtype=torch.float32), torch.tensor(half[1]))
    model = torch.nn.Linear(half[0].shape[1], n_classes)
    torch.nn.init.zeros_(model.weight)
    loader = torch.utils.data.DataLoader(rows, batch_size=max(64, len(half[0]) // 20))
    model, steps, loader = PrivacyEngine().make_private_with_epsilon(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=rate), data_loader=loader,
        target_epsilon=epsilon, target_delta=DELTA, epochs=passes, max_grad_norm=1.0,
    )  # fmt: skip
    loss = torch.nn.CrossEntropyLoss()
    for _ in range(passes):
        for batch, labels in loader:
            if len(batch):
                steps.zero_grad()
                loss(model(batch), labels).backward()
                steps.step()
    weight, bias = model._module.weight.detach().numpy(), model._module.bias.detach().numpy()
    return np.vstack([weight.T, bias])


def ours(table: Table, epsilon: float, key: int) -> LogisticRegression:
    return LogisticRegression(
        epsilon, DELTA, classes=table.classes, row_norm=table.row_norm, neighbours="add_remove", random_state=key
    )


class Trial:
    """A table in its splits; each method gives its accuracies on the judged rows, and its times of fitting."""

    def __init__(self, table: Table, n_splits: int):
        self.table, self.times = table, {}
        splits = StratifiedShuffleSplit(n_splits, test_size=0.3, random_state=0).split(table.rows, table.labels)
        self.halves = [tuple((table.rows[part], table.labels[part]) for part in split) for split in splits]

    def run(
        self, name: str, fit: Callable[[Half, int], Callable[[Half], float]], n_splits: int | None = None
    ) -> np.ndarray:
        scores, times = [], []
        for key, (fitting, judged) in enumerate(self.halves[:n_splits]):
            start = time.process_time()
            score = fit(fitting, key)
            times.append(time.process_time() - start)
            scores.append(score(judged))
        self.times[name] = statistics.median(times)
        return np.array(scores)

    def descents(self, epsilon: float) -> np.ndarray:
        """Return accuracies (settings, splits)."""
        mu, k = for_gaussian_releases(gd.ApproxDP(epsilon, DELTA)).mu, len(self.table.classes)
        return np.array(
            [
                self.run(
                    "descent, 200 steps", lambda half, key, s=setting: scored(descent(half, k, s, mu, generator(key)))
                )
                for setting in SETTINGS
            ]
        )

    def ours(self, epsilon: float) -> np.ndarray:
        def fit(half: Half, key: int) -> Callable[[Half], float]:
            model = ours(self.table, epsilon, key).fit(*half)
            return lambda judged: model.score(*judged)

        return self.run("ours", fit)

    def searched(self, epsilon: float) -> np.ndarray:
        k = len(self.table.classes)
        return self.run("searched", lambda half, key: scored(searched(half, k, epsilon, generator(key))))

    def peers(self, epsilon: float) -> float:
        """Return the mean accuracy of the best setting."""
        k = len(self.table.classes)
        return max(
            self.run("Opacus", lambda half, _, s=setting: scored(peer(half, k, epsilon, *s)), PEER_SPLITS).mean()
            for setting in PEER_SETTINGS
        )

    def plain(self) -> float:
        def fit(half: Half, _: int) -> Callable[[Half], float]:
            model = Plain(C=100, max_iter=2000).fit(*half)
            return lambda judged: model.score(*judged)

        return float(self.run("scikit-learn", fit).mean())


def scored(weights: np.ndarray) -> Callable[[Half], float]:
    return lambda judged: accuracy(weights, judged)


def generator(key: int) -> np.random.Generator:
    return np.random.default_rng((7, key))


@dataclass(frozen=True, eq=False)
class Row:
    """What was measured of a table at an ε."""

    table: str
    epsilon: float
    majority: float
    plain: float
    ours: np.ndarray
    descents: np.ndarray
    searched: np.ndarray
    peer: float | None

    def rivals(self, common: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the accuracies of descent with the common setting, a chosen one, and the best on judged rows."""
        return self.descents[common], self.searched, self.descents[self.descents.mean(1).argmax()]

    def text(self, common: int) -> str:
        cells = [
            self.table,
            f"{self.epsilon:g}",
            f"{self.majority:.3f}",
            f"{self.plain:.3f}",
            f"{self.ours.mean():.3f}",
        ]
        cells += [f"{scores.mean():.3f}{verdict(self.ours - scores)}" for scores in self.rivals(common)]
        cells.append("–" if self.peer is None else f"{self.peer:.3f}")
        return "| " + " | ".join(cells) + " |"


def verdict(gaps: np.ndarray) -> str:
    """Return an arrow where a peer is better or worse by more than two standard errors of the paired difference."""
    error = 2 * gaps.std(ddof=1) / np.sqrt(len(gaps))
    return " ▲" if gaps.mean() < -error else " ▼" if gaps.mean() > error else ""


def measured(trial: Trial) -> list[Row]:
    table, rows = trial.table, []
    majority, plain = float(np.bincount(table.labels).max() / len(table.labels)), trial.plain()
    for epsilon in EPSILONS:
        given = trial.peers(epsilon) if torch is not None and epsilon in FEW else None
        rows.append(
            Row(
                table.name, epsilon, majority, plain, trial.ours(epsilon), trial.descents(epsilon),
                trial.searched(epsilon), given,
            )
        )  # fmt: skip
        print(rows[-1].text(0), flush=True)
    return rows


def counts(rows: list[Row], common: int) -> list[str]:
    """Return the table of how often ours is better, as good and worse, by ε."""
    lines = ["| ε | one setting | chosen | best |", "|---:|---:|---:|---:|"]
    for epsilon in (*EPSILONS, None):
        signs = [
            [verdict(row.ours - scores) for scores in row.rivals(common)]
            for row in rows
            if epsilon in (row.epsilon, None)
        ]
        cells = (f"{each.count(' ▼')} / {each.count('')} / {each.count(' ▲')}" for each in zip(*signs, strict=True))
        lines.append(f"| {'all' if epsilon is None else f'{epsilon:g}'} | {' | '.join(cells)} |")
    return lines


def opacus(rows: list[Row]) -> str:
    """Return how often the peer is better."""
    gaps = [row.ours[:PEER_SPLITS].mean() - row.peer for row in rows if row.peer is not None]
    if not gaps:
        return "Opacus was not installed."
    lost = sum(gap < 0 for gap in gaps)
    return f"Opacus, best of its settings on the evaluation rows, has the higher mean in {lost} of {len(gaps)} cases."


def lost(rows: list[Row], common: int) -> str:
    """Return where the common setting is better."""
    pairs = [(row, row.rivals(common)[0]) for row in rows]
    cases = [
        f"{row.table} at ε = {row.epsilon:g} ({scores.mean():.3f}, ours {row.ours.mean():.3f})"
        for row, scores in pairs
        if verdict(row.ours - scores) == " ▲"
    ]
    return f"One setting is better on {', '.join(cases) or 'no table'}."


def seconds(trials: list[Trial]) -> str:
    """Return the times of fits at the largest ε, the least and the most over the tables."""
    spans = {}
    for name in ("scikit-learn", "ours", "descent, 200 steps", "Opacus"):
        times = [trial.times[name] for trial in trials if name in trial.times]
        if times:
            spans["gaugedp" if name == "ours" else name] = f"{min(times):.3f} to {max(times):.3f} s"
    return ", ".join(f"{span} ({called})" for called, span in spans.items())


def main(folder: Path | None, n_splits: int) -> None:
    warnings.simplefilter("ignore")
    trials = [Trial(table, n_splits) for table in tables(folder)]
    rows = [row for trial in trials for row in measured(trial)]
    common = int(np.mean([row.descents.mean(1) for row in rows], axis=0).argmax())
    packages = ("torch", "opacus") if torch is not None else ()
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    lines = [
        "Tables on which gaugedp is better / within the noise of the splits / worse:", "",
        *counts(rows, common), "",
        lost(rows, common),
        opacus(rows),
        f"A fit at ε = {EPSILONS[-1]:g} takes {seconds(trials)}.",
        f"{len(trials)} tables, {n_splits} splits; one setting is {SETTINGS[common]}. {versions}.",
    ]  # fmt: skip
    pages.put("models", "descent", lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
