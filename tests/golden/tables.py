"""The tables of the golden releases: the same everywhere, as their values follow from the numbers of the rows."""

from typing import Any

import numpy as np
import pandas as pd

import gaugedp as gd

SEED, N_ROWS = 20240229, 2000
DOMAIN = gd.Domain.of(
    A=gd.categories(["w", "x", "y", "z"], "other"),
    B=["no", "yes"],
    AGE=gd.bins(0, 100, 10),
    X=gd.bounded(0, 100, 1),
    Y=gd.bounded(-20, 60, 0.5),
)
WIDE = gd.Domain.of(
    A=gd.integers(0, 9),
    B=["x", "y"],
    C=gd.bins(0, 100, 5),
    E=gd.integers(0, 3),
    F=list("abcdef"),
    G=gd.integers(0, 63),
    PAY=gd.bounded(0, 100000, 10),
    AGE=gd.bounded(0, 120),
)
PERSON = gd.PrivacyUnit("pid", max_rows=3)
MADE = DOMAIN.by_person(
    gd.PrivacyUnit("pid"),
    {
        "n": gd.PerPerson.count(gd.integers(0, 5)),
        "oldest": gd.PerPerson.max("AGE"),
        "all": gd.PerPerson.sum("X", gd.bounded(0, 300)),
    },
)
KEYS = gd.Domain.of(CITY=gd.unknown_keys(100), B=["no", "yes"])
PURE, ZCDP, MU, APPROX = {"epsilon": 1.0}, {"rho": 0.5}, {"mu": 0.5}, {"epsilon": 0.5, "delta": 1e-6}
QUESTIONS: list[tuple[str, dict[str, float]]] = [
    ("count", PURE),
    ("A*B", PURE),
    ("A*AGE", {"rho": 0.1}),
    ("A*B", APPROX),
    ("A*B", MU),
    ("A; B; AGE", PURE),
    ("A*B; A*AGE", ZCDP),
    ("prefix(AGE)", PURE),
    ("ranges(AGE)", ZCDP),
    ("sum(X) by A", PURE),
    ("sum(Y); B", ZCDP),
    ("mean(X) by A", PURE),
    ("mean(Y) by A; mean(X)", ZCDP),
    ("sd(X) by B", PURE),
    ("sd(Y)", ZCDP),
    ("share(A) by B", PURE),
    ("share(B) by A; A", {"rho": 0.3}),
    ("median(X) by B", PURE),
    ("quantiles(Y, 0.1, 0.9)", ZCDP),
    ("median(X); A*B", PURE),
    ("difference(B) by A", PURE),
    ("ratio(B) by A", ZCDP),
    ("index(A)", PURE),
    ("change(AGE)", MU),
]
_BUDGETS = {"rho": gd.ZCDP(9.0), "mu": gd.GaussianDP(9.0), "delta": gd.ApproxDP(9.0, 1e-3), "epsilon": gd.PureDP(9.0)}


def frame() -> pd.DataFrame:
    """Return the rows of all domains but WIDE: with missing numbers, and cells and numbers out of domain."""
    i = np.arange(N_ROWS)
    columns: dict[str, Any] = {
        "pid": i * 31 % 701,
        "A": np.array(["w", "x", "y", "z", "z", "?", None], dtype=object)[i * i % 7],
        "B": np.array(["no", "yes"])[i % 3 // 2],
        "AGE": i * 37 % 101,
        "X": np.where(i % 17 == 0, np.nan, i * i % 113),
        "Y": i * 53 % 89 - 25.25,
        "CITY": [f"c{int(number**1.5)}" for number in i % 40],
    }
    return pd.DataFrame(columns)


def _wide() -> pd.DataFrame:
    i = np.arange(N_ROWS)
    numbers = {"A": i * i % 11, "C": i * 7 % 100, "E": i * i * 3 % 5 % 4, "G": i * i % 67, "PAY": i * i % 99991}
    return pd.DataFrame(
        {**numbers, "AGE": i % 117, "B": np.array(["x", "y"])[i % 5 // 3], "F": np.array(list("abcdef"))[i * i % 6]}
    )


def table(domain: gd.Domain = DOMAIN, unit: gd.PrivacyUnit | None = None) -> gd.Table:
    """Return the golden table of a domain."""
    rows = _wide() if domain is WIDE else frame()
    return gd.Table.scan(rows, domain=domain, unit=unit, name="golden")


def ledger(requested: dict[str, float]) -> gd.Ledger:
    """Return a ledger whose budget is of the kind that is asked for."""
    return gd.Ledger.in_memory(next(budget for kind, budget in _BUDGETS.items() if kind in requested))


def released(text: str, requested: dict[str, float], account: gd.Ledger, source: gd.Table | None = None) -> gd.Release:
    """Return the release of a table, by default of DOMAIN, under the golden seed."""
    rows = table() if source is None else source
    query = gd.query(rows.domain, text)
    return gd.release(query, rows, ledger=account, rng=gd.research_rng(SEED), key="golden", **requested)
