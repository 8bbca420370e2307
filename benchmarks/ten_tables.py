"""Ten public tables of classes: numbers are scaled by round public bounds, categories are columns of 0 and 1.

Two come with scikit-learn and one with the repository. `adult.csv` and the folder `csv` of the collection Rdatasets are
looked for in a folder that the caller names; what is not there is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

ACS = Path(__file__).resolve().parents[1] / "examples" / "acs" / "acs_ma2018.csv"


@dataclass(frozen=True, eq=False)
class Table:
    """Rows (n, d) in [0, 1], the longest that a row can be, and a label 0, 1, … for each."""

    name: str
    rows: np.ndarray
    row_norm: float
    labels: np.ndarray

    @property
    def classes(self) -> list[int]:
        return list(range(int(self.labels.max()) + 1))


@dataclass(frozen=True)
class Source:
    """A file, the question asked of it, the bounds of its numbers and the names of its categories."""

    path: str
    column: str
    yes: str  # the value that counts as 1, or a threshold as "> 40000"
    numbers: dict[str, tuple[float, float]]
    categories: str = ""

    def read(self, file: Path) -> Table:
        frame = pd.read_csv(file, skipinitialspace=True, na_values="N")
        parts = [scaled(frame[[name]].to_numpy(float), *ends) for name, ends in self.numbers.items()]
        names = self.categories.split()
        if names:
            parts.append(pd.get_dummies(frame[names].astype(str)).to_numpy(float))
        return Table(self.path, np.hstack(parts), float(np.sqrt(len(self.numbers) + len(names))), self._labels(frame))

    def _labels(self, frame: pd.DataFrame) -> np.ndarray:
        column = frame[self.column]
        if self.yes.startswith("> "):
            return (column > float(self.yes[2:])).to_numpy().astype(int)
        return (column.astype(str).str.strip(" .") == self.yes).to_numpy().astype(int)


SOURCES = (
    Source("acs_ma2018.csv", "PINCP", "> 40000", {"AGEP": (0, 100), "EDU": (0, 13)}, "SEX MSP HISP RAC1P OWN_RENT"),
    Source(
        "adult.csv",
        "income-per-year",
        ">50K",
        {
            "age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 20_000), "capital-loss": (0, 4_000),
            "hours-per-week": (0, 80),
        },
        "workclass marital-status occupation relationship race sex",
    ),
    Source(
        "ISLR/OJ.csv",
        "Purchase",
        "CH",
        {"LoyalCH": (0, 1), "PriceDiff": (-1, 1), "ListPriceDiff": (0, 0.5), "WeekofPurchase": (225, 280)},
        "SpecialCH SpecialMM STORE",
    ),
    Source(
        "DAAG/spam7.csv",
        "yesno",
        "y",
        {"crl.tot": (0, 2_000), "dollar": (0, 1), "bang": (0, 2), "money": (0, 2), "n000": (0, 1), "make": (0, 1)},
    ),
    Source(
        "AER/HMDA.csv",
        "deny",
        "yes",
        {"pirat": (0, 1), "hirat": (0, 1), "lvrat": (0, 1.5), "unemp": (0, 12)},
        "chist mhist phist selfemp insurance condomin afam single hschool",
    ),
    Source(
        "AER/HealthInsurance.csv",
        "insurance",
        "yes",
        {"age": (18, 65), "family": (1, 10)},
        "health limit gender married selfemp region ethnicity education",
    ),
    Source(
        "modeldata/attrition.csv",
        "Attrition",
        "Yes",
        {
            "Age": (18, 60), "MonthlyIncome": (0, 20_000), "DistanceFromHome": (0, 30), "YearsAtCompany": (0, 40),
            "TotalWorkingYears": (0, 40),
        },
        "OverTime MaritalStatus BusinessTravel JobSatisfaction Department Gender",
    ),
    Source(
        "modeldata/credit_data.csv",
        "Status",
        "good",
        {
            "Seniority": (0, 50), "Time": (0, 72), "Age": (18, 80), "Expenses": (0, 200), "Income": (0, 500),
            "Assets": (0, 50_000), "Debt": (0, 10_000), "Amount": (0, 5_000), "Price": (0, 10_000),
        },
        "Home Marital Records Job",
    ),
)  # fmt: skip


def scaled(rows: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    """Return rows clipped to the bounds and scaled to [0, 1]; what is missing is in the middle."""
    wide = (np.clip(rows, low, high) - low) / (np.asarray(high) - low)
    return np.where(np.isnan(wide), 0.5, wide)


def tables(folder: Path | None) -> Iterator[Table]:
    """Yield the tables that are there."""
    rows, labels = load_breast_cancer(return_X_y=True)
    yield Table("breast_cancer", scaled(rows, rows.min(axis=0), rows.max(axis=0)), 30**0.5, labels)
    rows, labels = load_digits(return_X_y=True)
    yield Table("digits", rows / 16, 8.0, labels)
    for source in SOURCES:
        places = [ACS] if source.path == ACS.name else [] if folder is None else [folder / source.path]
        for place in places:
            if place.is_file():
                yield source.read(place)
            else:
                print(f"left out: there is no {source.path} in that folder", flush=True)
