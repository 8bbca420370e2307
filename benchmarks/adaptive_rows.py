"""How near are synthetic rows to all tables of three attributes where the release chooses what it measures?

UCI Adult, 8 attributes and 5 of them, ε = 1 and δ = 1e-9, beside the attributes alone, all pairs, and AIM where its
rows are given. A logistic regression is trained on rows and scored on real rows that were held out.
Writes docs/benchmarks/synthetic_rows.md, and eight.csv and five.csv in FOLDER, which adaptive_rows_aim.py reads. Each
AIM is a file that it wrote.

    python benchmarks/adaptive_rows.py adult.csv FOLDER [AIM ...]
"""

import itertools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pages
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import gaugedp as gd

EPSILON, DELTA, SEEDS, N_HELD = 1.0, 1e-9, (1, 2, 3), 6561
COLUMNS = {
    "AGE": "age", "WORKCLASS": "workclass", "EDUCATION": "education-num", "MARITAL": "marital-status",
    "OCCUPATION": "occupation", "RELATIONSHIP": "relationship", "SEX": "sex", "INCOME": "income-per-year",
}  # fmt: skip
SIZES = dict(zip(COLUMNS, (9, 9, 16, 7, 15, 6, 2, 2), strict=True))  # of the code book; ages by tens from 10 on
CASES = {"eight": list(COLUMNS), "five": ["EDUCATION", "MARITAL", "OCCUPATION", "SEX", "INCOME"]}
DOMAIN = gd.Domain.of(**{name: gd.integers(0, size - 1) for name, size in SIZES.items()})
Timed = tuple[pd.DataFrame, float]


def main(path: str, folder: str, *others: str) -> None:
    """Write the page."""
    real, held = split(cells_of(path))
    table = gd.Table.scan(real, domain=DOMAIN, name="adult")
    parts = list[str]()
    for case, names in CASES.items():
        write(Path(folder) / f"{case}.csv", real[names])
        lines = [line("real rows", [(real[names], 0.0)], real, held)]
        for what, make in MAKERS[case].items():
            lines.append(line(what, [make(table, names, seed) for seed in SEEDS], real, held))
            print(case, lines[-1], flush=True)
        made = [one for one in map(read, others) if list(one[0]) == names]
        lines += [line("AIM", made, real, held)] if made else []
        parts.append(section(names, lines, holds(table, names, real)))
    pages.put("synthetic_rows", "adaptive_rows", ["\n\n".join(parts)])


def cells_of(path: str) -> pd.DataFrame:
    """Return the cells of all rows."""
    frame = pd.read_csv(path, skipinitialspace=True)
    cells = {
        name: frame[column].to_numpy() if frame[column].dtype.kind == "i" else codes(frame[column])
        for name, column in COLUMNS.items()
    }
    return pd.DataFrame({**cells, "AGE": cells["AGE"] // 10 - 1, "EDUCATION": cells["EDUCATION"] - 1})


def codes(column: pd.Series) -> np.ndarray:
    """Return the place of each text in the alphabet's order."""
    return np.unique(column, return_inverse=True)[1]


def split(cells: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows that are released from, and those held out."""
    is_held = np.random.default_rng(0).permutation(len(cells)) < N_HELD
    return cells[~is_held].reset_index(drop=True), cells[is_held]


def write(path: Path, cells: pd.DataFrame) -> None:
    """Write the cells for adaptive_rows_aim.py, sizes first."""
    sizes = ",".join(str(SIZES[name]) for name in cells)
    path.write_text(f"{sizes}\n{cells.to_csv(index=False)}", "utf-8")


def read(path: str) -> Timed:
    """Return the rows and the processor's seconds that adaptive_rows_aim.py wrote."""
    seconds = float(Path(path).read_text("utf-8").splitlines()[0].split(",")[1])
    return pd.read_csv(path, skiprows=1), seconds


def timed(release: Callable[[gd.Ledger], gd.Release], names: Sequence[str], seed: int) -> Timed:
    """Return rows of a release, and the processor's seconds for both."""
    start = time.process_time()
    made = gd.draw_rows(release(gd.Ledger.in_memory(gd.ZCDP(1e12))), rng=gd.research_rng(seed))
    seconds = time.process_time() - start
    return pd.DataFrame({name: made.columns[name].astype(int) for name in names}), seconds


def adaptively(table: gd.Table, names: Sequence[str], ledger: gd.Ledger, seed: int) -> gd.Release:
    """Return the release that chooses its tables."""
    expected = gd.marginals(DOMAIN, *itertools.combinations(names, 3))
    rng = gd.research_rng(seed)
    return gd.release_adaptively(expected, table, ledger=ledger, epsilon=EPSILON, delta=DELTA, rng=rng)


def chosen(table: gd.Table, names: Sequence[str], seed: int) -> Timed:
    """Return rows from tables that are chosen as the release goes."""
    return timed(lambda ledger: adaptively(table, names, ledger, seed), names, seed)


def plainly(table: gd.Table, names: Sequence[str], seed: int, size: int) -> Timed:
    """Return rows from all tables of so many attributes, released at once with normal noise of one size."""
    query = gd.marginals(DOMAIN, *itertools.combinations(names, size))
    noise = gd.Gaussian.calibrate(query.sensitivity(table.unit), gd.ApproxDP(EPSILON, DELTA))
    rng = gd.research_rng(seed)
    return timed(lambda ledger: gd.release(query, table, ledger=ledger, mechanism=noise, rng=rng), names, seed)


def pairs(table: gd.Table, names: Sequence[str], seed: int) -> Timed:
    """Return rows from all pairs."""
    return plainly(table, names, seed, 2)


def alone(table: gd.Table, names: Sequence[str], seed: int) -> Timed:
    """Return rows from each attribute alone."""
    return plainly(table, names, seed, 1)


MAKERS = {  # a model of all pairs of eight attributes needs every cell of their joint table, for an hour
    "eight": {"chosen tables": chosen, "single attributes": alone},
    "five": {"chosen tables": chosen, "all pairs": pairs, "single attributes": alone},
}


def counts(cells: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return the share of the rows in each cell of a table."""
    shape = [SIZES[name] for name in names]
    places = np.ravel_multi_index([cells[name] for name in names], shape)
    return np.bincount(places, minlength=int(np.prod(shape))) / len(cells)


def error(cells: pd.DataFrame, real: pd.DataFrame) -> float:
    """Return the mean over all threes of the sum of the distances from the true shares."""
    threes = itertools.combinations(cells.columns, 3)
    return float(np.mean([np.abs(counts(cells, names) - counts(real, names)).sum() for names in threes]))


def scored(cells: pd.DataFrame, held: pd.DataFrame) -> tuple[float, float]:
    """Return accuracy and area under the curve, on held-out rows, of a logistic regression trained on the cells."""
    model = LogisticRegression(C=1.0, max_iter=1000).fit(one_hot(cells), cells["INCOME"])
    chances = model.predict_proba(one_hot(held[list(cells)]))[:, 1]
    return float(((chances > 0.5) == held["INCOME"]).mean()), float(roc_auc_score(held["INCOME"], chances))


def one_hot(cells: pd.DataFrame) -> np.ndarray:
    """Return a column for each cell of each attribute but the income."""
    return np.hstack([np.eye(SIZES[name])[cells[name]] for name in cells if name != "INCOME"])


def line(what: str, made: Sequence[Timed], real: pd.DataFrame, held: pd.DataFrame) -> str:
    """Return a line of the table: means over the runs."""
    errors, scores = [error(cells, real) for cells, _ in made], [scored(cells, held) for cells, _ in made]
    accuracy, area = np.mean(scores, axis=0)
    spread = f" ({min(errors):.3f} to {max(errors):.3f})" if len(errors) > 1 else ""
    seconds = np.mean([seconds for _, seconds in made])
    return f"| {what} | {len(made)} | {np.mean(errors):.3f}{spread} | {accuracy:.1%} | {area:.3f} | {seconds:.1f} |"


def holds(table: gd.Table, names: Sequence[str], real: pd.DataFrame) -> str:
    """Return how many released intervals hold the truth, over the runs."""
    inside, n_tables = list[np.ndarray](), list[int]()
    for seed in SEEDS:
        answer = adaptively(table, names, gd.Ledger.in_memory(gd.ZCDP(1e12)), seed)
        sets = [text.split("*") for text, _ in answer.labels.terms]
        truth = np.concatenate([np.rint(len(real) * counts(real, part)) for part in sets])
        low, high = answer.interval(0.95)
        inside.append((low <= truth) & (truth <= high))
        n_tables.append(len(sets))
    both = np.concatenate(inside)
    tables = f"{min(n_tables)} to {max(n_tables)} tables"
    return f"{both.mean():.1%} of the {len(both):,} released 95 % intervals, of {tables} per run, contain the truth."


def section(names: Sequence[str], lines: Sequence[str], said: str) -> str:
    """Return the table of a case."""
    head = (
        f"| {len(names)} attributes | runs | error | accuracy | AUC | processor s |\n|---|---:|---:|---:|---:|---:|\n"
    )
    return head + "\n".join(lines) + f"\n\n{said}"


if __name__ == "__main__":
    main(*sys.argv[1:])
