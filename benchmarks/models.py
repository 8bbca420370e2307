"""How well do private linear classifiers do, beside the same models without privacy?

Accuracies: medians over 15 stratified 70/30 splits, each with 20 draws of the noise, and one for Adult and for
diffprivlib; once where rows are added or removed, and once where they are replaced, which takes twice the noise.
Scaling: the pixel range of digits; each
column's range for breast_cancer, taken from the data, whose description prints it; or a mean and deviation, taken from
all rows AS IF they were public: an assumption, not a private fit; one-hot columns of listed categories and round bounds
for Adult. diffprivlib gets the same rows scaled, and their norm; it is pure ε-DP, a stronger
guarantee. The estimators' constants (caps, paths, ridge, intercept, centre) were chosen while looking at these sources
of rows, so the numbers flatter them.
Writes docs/benchmarks/models.md; takes half an hour.

    python benchmarks/models.py [adult.csv]
    python benchmarks/models.py --plain    # means, clusters, counts and naive Bayes only: two minutes
"""

import math
import sys
import warnings

import numpy as np
import pages
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans as Clusters
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.linear_model import PoissonRegressor as PlainPoisson
from sklearn.metrics import r2_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB as PlainBayes
from sklearn.preprocessing import MinMaxScaler

from gaugedp import estimators
from gaugedp.estimators.logistic import LogisticRegression

try:
    from diffprivlib import models as peers
    from diffprivlib import tools
    from diffprivlib.models import LogisticRegression as Peer

    PEERS: tuple[type, ...] = (Peer,)
except ImportError:
    PEERS = ()

EPSILONS = (0.1, 1.0, 10.0)
SPLITS, DELTA = 15, 1e-5
NEIGHBOURS = {"add_remove": "added or removed", "replace": "replaced"}
NUMBERS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 4_000),
    "hours-per-week": (0, 80),
}
CATEGORIES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
}


def scores(model, X: np.ndarray, y: np.ndarray, draws: int = 1) -> np.ndarray:
    """The accuracy on the rest of each split, for each draw of the noise."""
    splits = StratifiedShuffleSplit(SPLITS, test_size=0.3, random_state=0).split(X, y)
    return np.array([[clone(model).fit(X[a], y[a]).score(X[b], y[b]) for _ in range(draws)] for a, b in splits])


def draws(kind: type, X: np.ndarray) -> int:
    """How often each split is fitted: the fewer rows, the more a fit moves, and the less it takes."""
    return 1 if kind in PEERS or len(X) > 2000 else 20


def loud() -> str:
    """Return how much single draws vary where the noise is as large as here."""
    X, y, how = data(None)["breast_cancer, ranges"]
    spans = []
    for neighbours, words in NEIGHBOURS.items():
        result = scores(model(LogisticRegression, 0.1, X, y, how, neighbours), X, y, 20)
        low, high = np.quantile(result, [0.25, 0.75])
        spans.append(f"between {low:.3f} and {high:.3f} ({words})")
    return (
        f"Single draws vary at small ε: of {20 * SPLITS} other fits of LogisticRegression on breast_cancer by its "
        f"ranges at ε = 0.1, half lie {', or '.join(spans)}."
    )


def adult(path: str) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    frame = pd.read_csv(path, skipinitialspace=True)
    parts = [
        ((frame[name].clip(*ends) - ends[0]) / (ends[1] - ends[0])).to_numpy()[:, None]
        for name, ends in NUMBERS.items()
    ]
    parts += [
        (frame[name].to_numpy()[:, None] == np.array(words.split())).astype(float) for name, words in CATEGORIES.items()
    ]
    return np.hstack(parts), (frame["income-per-year"].str.strip(" .") == ">50K").to_numpy().astype(int)


def data(path: str | None) -> dict[str, tuple[np.ndarray, np.ndarray, dict]]:
    X, y = load_breast_cancer(return_X_y=True)
    ends, centre, spread = (X.min(axis=0), X.max(axis=0)), X.mean(axis=0), X.std(axis=0)
    pixels, digits = load_digits(return_X_y=True)
    results = {
        "breast_cancer, ranges": (X, y, {"bounds": ends, "row_norm": 3.0}),
        "breast_cancer, public means": ((X - centre) / spread, y, {"row_norm": 4.0}),
        "digits, pixels 0 to 16": (pixels, digits, {"bounds": (0, 16)}),
    }
    if path is not None:
        rows, income = adult(path)
        results["adult, one-hot"] = (rows, income, {"row_norm": 3.0})
    return results


def accuracies(path: str | None) -> list[str]:
    """Return the table: accuracies where rows are added or removed, and where they are replaced."""
    heads = [f"{words}: ε = {EPSILONS[0]:g}" for words in ("added", "replaced")]
    rest = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS[1:])
    lines = [
        f"| table | model | without privacy | {heads[0]} | {rest} | {heads[1]} | {rest} |",
        "|---|---|" + "---:|" * (1 + 2 * len(EPSILONS)),
    ]
    for name, (X, y, how) in data(path).items():
        plain = float(np.median(scores(Plain(C=100, max_iter=2000), MinMaxScaler().fit_transform(X), y)))
        found = {}
        for kind in (LogisticRegression, *PEERS):
            found[kind] = []
            for neighbours in NEIGHBOURS:
                if kind in PEERS and neighbours != "replace":
                    found[kind] += [math.nan] * len(EPSILONS)
                    continue
                rows, models = scaled(kind, X, how), [model(kind, e, X, y, how, neighbours) for e in EPSILONS]
                found[kind] += [float(np.median(scores(each, rows, y, draws(kind, X)))) for each in models]
        for kind, values in found.items():
            shown = name if kind is LogisticRegression else ""
            called = f"diffprivlib {kind.__name__}" if kind in PEERS else kind.__name__
            cells = ("–" if math.isnan(value) else f"{value:.3f}" for value in values)
            lines.append(f"| {shown} | {called} | {plain:.3f} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return [*lines, "", loud()]


def scaled(kind: type, X: np.ndarray, how: dict) -> np.ndarray:
    """Return the rows as the model takes them: the peer has no bounds, so it gets rows scaled by them."""
    if kind not in PEERS or "bounds" not in how:
        return X
    low, high = (np.asarray(end, dtype=float) for end in how["bounds"])
    return (X - low) / (high - low)


def model(kind: type, epsilon: float, X: np.ndarray, y: np.ndarray, how: dict, neighbours: str):
    if kind not in PEERS:
        return kind(epsilon, DELTA, classes=np.unique(y), neighbours=neighbours, **how)
    longest = how["row_norm"] if "bounds" not in how else float(np.sqrt(X.shape[1]))
    return kind(epsilon=epsilon, data_norm=longest, max_iter=1000)


def plain_models() -> list[str]:
    """Return the table of means, clusters, counts and naive Bayes: medians over ten fits."""
    rng = np.random.default_rng(0)
    incomes = np.exp(rng.normal(10, 1, (300, 1))).clip(0, 2e5)
    centres = rng.uniform(-0.8, 0.8, (8, 10))
    blobs = np.clip(centres[rng.integers(8, size=20_000)] + rng.normal(0, 0.06, (20_000, 10)), -1, 1)
    digits = load_digits().data
    people = rng.integers([6, 0], [18, 50], (28_155, 2)).astype(float)
    log_means = 4.6 + 0.09 * people[:, 0] + 0.035 * people[:, 1] - 0.00045 * people[:, 1] ** 2
    wages = np.exp(log_means) * rng.gamma(2.2, 1 / 2.2, len(people))
    lines = ["| case | ε | added | replaced | diffprivlib | without privacy |", "|---|---:|---:|---:|---:|---:|"]

    def line(case: str, epsilon: float, fit, peer, plain: float) -> None:
        ours = [np.median([fit(way, seed) for seed in range(10)]) for way in NEIGHBOURS]
        other = np.median([peer(seed) for seed in range(10)]) if PEERS and peer else math.nan
        cells = ("–" if math.isnan(value) else f"{value:.4g}" for value in (*ours, other, plain))
        lines.append(f"| {case} | {epsilon:g} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)

    for epsilon in (0.1, 1.0):

        def mean(way: str, seed: int, epsilon: float = epsilon) -> float:
            model = estimators.Mean(epsilon, bounds=(0, 2e5), neighbours=way, random_state=seed).fit(incomes)
            return abs(float(model.mean_[0] - incomes.mean()))

        peer = lambda seed, e=epsilon: abs(tools.mean(incomes, e, (0, 2e5), random_state=seed) - incomes.mean())  # noqa: E731
        line("mean of 300 skewed incomes, error", epsilon, mean, peer, 0.0)
    for name, X, k, ends, epsilon in (("eight clusters", blobs, 8, (-1, 1), 8.0), ("digits", digits, 10, (0, 16), 1.0)):
        best = Clusters(k, n_init=10, random_state=0).fit(X).inertia_
        ratio = lambda centres, X=X, best=best: float(cdist(X, centres, "sqeuclidean").min(axis=1).sum() / best)  # noqa: E731
        line(
            f"k-means on {name}, inertia over the best", epsilon,
            lambda way, seed, a=(k, epsilon), X=X, b=ends, r=ratio: r(
                estimators.KMeans(*a, bounds=b, neighbours=way, random_state=seed).fit(X).cluster_centers_),
            lambda seed, k=k, e=epsilon, X=X, b=ends, r=ratio: r(
                peers.KMeans(k, epsilon=e, bounds=b, random_state=seed).fit(X).cluster_centers_), 1.0,
        )  # fmt: skip
    for epsilon in (1.0, 100.0):

        def counts(way: str, seed: int, epsilon: float = epsilon) -> float:
            facts = {"bounds": ([0, 0], [20, 60]), "target_bounds": (0, 50_000), "neighbours": way}
            return estimators.PoissonRegressor(epsilon, DELTA, random_state=seed, **facts).fit(people, wages).score(
                people, wages)  # fmt: skip

        predicted = PlainPoisson(alpha=0, max_iter=1000).fit(people / 50, wages).predict(people / 50)
        line("Poisson regression, bounds (0, 50,000), R²", epsilon, counts, None, r2_score(wages, predicted))
    naive_bayes(line)
    return lines


def naive_bayes(line) -> None:
    """Write the lines of naive Bayes."""
    classes = make_classification(5000, 20, n_informative=8, n_redundant=4, n_classes=3, class_sep=1.2, random_state=0)
    box, likes = (classes[0].min(axis=0), classes[0].max(axis=0)), (load_breast_cancer(return_X_y=True), classes)
    for name, (X, y) in zip(("breast_cancer", "three classes"), likes, strict=True):
        ends = box if X is classes[0] else (X.min(axis=0), X.max(axis=0))
        for epsilon in (1.0, 3.0):
            line(
                f"naive Bayes on {name}, accuracy", epsilon,
                lambda way, seed, X=X, y=y, b=ends, e=epsilon: estimators.GaussianNB(
                    e, bounds=b, classes=np.unique(y), neighbours=way, random_state=seed).fit(X, y).score(X, y),
                lambda seed, X=X, y=y, b=ends, e=epsilon: peers.GaussianNB(
                    epsilon=e, bounds=b, random_state=seed).fit(X, y).score(X, y), PlainBayes().fit(X, y).score(X, y),
            )  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    if "--plain" in sys.argv[1:]:
        pages.put("models", "plain_models", plain_models())
        return
    path = sys.argv[1] if len(sys.argv) > 1 else None
    pages.put("models", "accuracy", accuracies(path))


if __name__ == "__main__":
    main()
