"""Streams of small tables for the tests."""

from pathlib import Path
from typing import Any

import pandas as pd

import gaugedp as gd

DOMAIN = gd.Domain.of(sex=["1", "2"], age=gd.integers(1, 3), pay=gd.bounded(0, 10))
UNIT = gd.PrivacyUnit()
BUDGET = gd.ApproxDP(1.0, 1e-6)
PRICE = {"epsilon": 1.0, "delta": 1e-6}


def frame(size: int) -> pd.DataFrame:
    """`size` rows that fill the cells in turn."""
    rows = range(size)
    return pd.DataFrame({"sex": [f"{1 + i % 2}" for i in rows], "age": [1 + i % 3 for i in rows], "pay": [5] * size})


def table(size: int, unit: gd.PrivacyUnit = UNIT) -> gd.Table:
    return gd.Table.scan(frame(size), domain=DOMAIN, unit=unit, name=f"of-{size}")


def opened(folder: Path, ledger: gd.Ledger, text: str = "sex; age", periods: int = 4, **options: Any) -> gd.Stream:
    """The stream of `folder`, opened or opened again."""
    price = {} if {"mu", "rho", "epsilon"} & set(options) else PRICE
    return gd.Stream.open(
        folder / "a.stream", gd.query(DOMAIN, text), UNIT, ledger=ledger, periods=periods, **price, **options
    )
