"""Releases under a fixed seed: which numbers, guarantees and charges they had when they were pinned.

python -m tests.release.golden    pins them anew, in golden.json
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gaugedp as gd

PINNED = Path(__file__).with_name("golden.json")
SEED, N_ROWS = 20240229, 2000
DOMAIN = gd.Domain.of(
    A=gd.categories(["w", "x", "y", "z"], "other"),
    B=["no", "yes"],
    AGE=gd.bins(0, 100, 10),
    X=gd.bounded(0, 100, 1),
    Y=gd.bounded(-20, 60, 0.5),
)
QUESTIONS: list[tuple[str, dict[str, float]]] = [
    ("count", {"epsilon": 1.0}),
    ("A*B", {"epsilon": 1.0}),
    ("A*AGE", {"rho": 0.1}),
    ("A*B", {"epsilon": 0.5, "delta": 1e-6}),
    ("A*B", {"mu": 0.5}),
    ("A; B; AGE", {"epsilon": 1.0}),
    ("A*B; A*AGE", {"rho": 0.5}),
    ("prefix(AGE)", {"epsilon": 1.0}),
    ("ranges(AGE)", {"rho": 0.5}),
    ("sum(X) by A", {"epsilon": 1.0}),
    ("sum(Y); B", {"rho": 0.5}),
    ("mean(X) by A", {"epsilon": 1.0}),
    ("mean(Y) by A; mean(X)", {"rho": 0.5}),
    ("sd(X) by B", {"epsilon": 1.0}),
    ("sd(Y)", {"rho": 0.5}),
    ("share(A) by B", {"epsilon": 1.0}),
    ("share(B) by A; A", {"rho": 0.3}),
    ("median(X) by B", {"epsilon": 1.0}),
    ("quantiles(Y, 0.1, 0.9)", {"rho": 0.5}),
    ("median(X); A*B", {"epsilon": 1.0}),
    ("difference(B) by A", {"epsilon": 1.0}),
    ("ratio(B) by A", {"rho": 0.5}),
    ("index(A)", {"epsilon": 1.0}),
    ("change(AGE)", {"mu": 0.5}),
]


def table(unit: gd.PrivacyUnit | None = None) -> gd.Table:
    """Return a table that is the same everywhere: its values follow from the numbers of the rows."""
    i = np.arange(N_ROWS)
    columns: dict[str, Any] = {
        "A": np.array(["w", "x", "y", "z", "z", "?", None], dtype=object)[i * i % 7],
        "B": np.array(["no", "yes"])[i % 3 // 2],
        "AGE": i * 37 % 101,
        "X": np.where(i % 17 == 0, np.nan, i * i % 113),
        "Y": i * 53 % 89 - 25.25,
    }
    return gd.Table.scan(pd.DataFrame(columns), domain=DOMAIN, unit=unit, name="golden")


def ledger(asked: dict[str, float]) -> gd.Ledger:
    """Return a ledger whose budget is of the kind that is asked for."""
    kind = next(name for name in ("rho", "mu", "delta", "epsilon") if name in asked)
    budgets = {"rho": gd.ZCDP(9.0), "mu": gd.GaussianDP(9.0), "delta": gd.ApproxDP(9.0, 1e-3)}
    return gd.Ledger.in_memory(budgets.get(kind, gd.PureDP(9.0)))


def released(text: str, asked: dict[str, float], account: gd.Ledger) -> gd.Release:
    """Return the release of the golden table under the golden seed."""
    return gd.release(gd.query(DOMAIN, text), table(), ledger=account, rng=gd.research_rng(SEED), key="golden", **asked)


def pinned(answer: gd.Release, account: gd.Ledger) -> dict[str, Any]:
    """Return what stays as it is."""
    return {
        "numbers": answer.numbers.tolist(),
        "guarantee": repr(answer.guarantee),
        "charged": answer.facts["account"]["charged"],
        "spent": repr(account.spent),
        "mechanism": answer.facts["mechanism"],
        "low": answer.interval(0.95)[0].tolist(),
        "high": answer.interval(0.95)[1].tolist(),
    }


def main() -> None:
    found = {}
    for text, asked in QUESTIONS:
        account = ledger(asked)
        found[f"{text} {json.dumps(asked)}"] = pinned(released(text, asked, account), account)
    lines = [f"{json.dumps(name)}: {json.dumps(fact)}" for name, fact in found.items()]
    PINNED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
