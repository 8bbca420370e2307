"""Features and target of a table's rows."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaugedp._internal.names import written_in_list
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.releases.executing import PaidRows

MOST_FEATURES = 10_000
RULES = (
    "A row without a cell in one of the attributes, or without a target, is left out; a missing number among the "
    "features counts as the number that the domain names for it, else as the middle of its bounds; {no_number}."
)


@dataclass(frozen=True)
class TableDesign:
    """Features and target of a row, by a domain.

    An attribute gives an indicator for each of its cells, a bounded column its value, scaled to [−1, 1], 0 if it is
    missing. Each adds at most 1 to the squared ℓ₂ norm, so `row_norm`, names and number of features are public. The
    target is the cell of an attribute, or the value of a bounded column; rows without one are left out.
    """

    domain: Domain
    features: tuple[str, ...]
    target: str
    by_class: bool

    @classmethod
    def of(cls, domain: Domain, features: Sequence[str], target: str, by_class: bool) -> "TableDesign":
        """Return the design; with `by_class` the target is an attribute, its cells the classes."""
        check_target(domain, target, by_class)
        if target in features:
            raise InvalidRequest(f"{target} is both the target and a feature.", "Remove it from the features.")
        return replace(cls.of_features(domain, features), target=target, by_class=by_class)

    @classmethod
    def of_features(cls, domain: Domain, features: Sequence[str]) -> "TableDesign":
        """Return the design of features without a target."""
        check_known("attribute or bounded column", features, [*domain.attributes, *domain.columns])
        if not features or len(set(features)) < len(features):
            raise InvalidRequest(
                f"Each feature must be named once, but the features are: {', '.join(features) or 'none'}.",
                "Name at least one feature, and none twice.",
            )
        design = cls(domain, tuple(features), "", False)
        if len(set(design.names)) < len(design.names):
            raise InvalidRequest(
                "Two features of the model would have the same name, made of an attribute and a cell.",
                "Rename one of the attributes.",
            )
        if design.n_features > MOST_FEATURES:
            raise InvalidRequest(
                f"The model would have {design.n_features:,} features, but at most {MOST_FEATURES:,} are supported.",
                "Choose attributes with fewer cells, or fewer of them.",
            )
        return design

    @property
    def attributes(self) -> list[str]:
        """Features that are attributes, even if also bounded columns."""
        return [name for name in self.features if name in self.domain.attributes]

    @property
    def columns(self) -> list[str]:
        """Features that are bounded columns."""
        return [name for name in self.features if name not in self.domain.attributes]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return sum(self.domain.shape(self.attributes)) + len(self.columns)

    @property
    def names(self) -> list[str]:
        """Names of features: cells such as "SEX=1", then bounded columns."""
        cells = [f"{name}={label}" for name in self.attributes for label in self.domain.attribute(name).labels]
        return cells + self.columns

    @property
    def row_norm(self) -> float:
        """Largest ℓ₂ norm of a row, by at most 1 per feature."""
        return math.sqrt(len(self.features))

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Classes, None for a numeric target."""
        return self.domain.attribute(self.target).labels if self.by_class else None

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of a numeric target."""
        column = self.domain.column(self.target)
        return float(column.low), float(column.high)

    def digest(self) -> str:
        """Return a hash of the design's public facts."""
        names = [*self.features, self.target]
        facts = [(name, self.domain.attributes.get(name), self.domain.columns.get(name)) for name in names]
        return hashlib.sha256(repr((facts, self.by_class, *self.domain.recipe(names))).encode()).hexdigest()

    def read(self, rows: PaidRows, row_key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Read the table once; return features (n, d) and target (n,)."""
        return self.features_and_target(*rows.lines(self.names_in_table, row_key))

    @property
    def names_in_table(self) -> tuple[list[str], list[str]]:
        """Attributes and columns to read, the target last in its list."""
        aims = ([self.target], []) if self.by_class else ([], [self.target])
        return self.attributes + aims[0], self.columns + aims[1]

    def features_and_target(self, cells: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return features (n, d) and target (n,), row by row."""
        if self.by_class:
            return self.rows_of(cells[:, :-1], steps), cells[:, -1]
        has_target = steps[:, -1] >= 0
        column = self.domain.column(self.target)
        values = (steps[has_target, -1] + column.low_steps) * float(column.step)
        return self.rows_of(cells[has_target], steps[has_target, :-1]), np.clip(values, *self.bounds)

    def public_row(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the constant row that every fit appends.

        Its features (1, d) are 0; its target (1,) is no class, or the middle of the bounds. Without it an empty table
        would raise, and a refusal would leak that it is empty.
        """
        target = np.full(1, -1, dtype=np.int64) if self.by_class else np.array([sum(self.bounds) / 2])
        return np.zeros((1, self.n_features)), target

    def possible_rows(self) -> np.ndarray:
        """Return rows (k, d) whose weighted sums give all rows: each cell with the others' first."""
        sizes = self.domain.shape(self.attributes)
        starts, first = np.cumsum([0, *sizes])[:-1], np.zeros(self.n_features)
        first[starts] = 1
        rows = [first]
        for start, size in zip(starts, sizes, strict=True):
            for cell in range(1, size):
                rows.append(first.copy())
                rows[-1][[start, start + cell]] = 0, 1
        for place in range(sum(sizes), self.n_features):
            rows.append(first.copy())
            rows[-1][place] = 1
        return np.array(rows)

    def in_units(self, coefficients: np.ndarray, intercepts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (k, d) and intercepts in the table's units."""
        n_cells = self.n_features - len(self.columns)
        facts = [self.domain.column(name) for name in self.columns]
        middle = np.array([float(fact.low + fact.high) / 2 for fact in facts])
        half = np.array([float(fact.high - fact.low) / 2 for fact in facts])
        slopes = coefficients[:, n_cells:] / half
        return np.hstack([coefficients[:, :n_cells], slopes]), intercepts - slopes @ middle

    def rows_of(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return features (n, d); the code −1 is no cell, or a missing number."""
        rows, start = np.zeros((len(cells), self.n_features)), 0
        for codes, size in zip(cells.T, self.domain.shape(self.attributes), strict=True):
            rows[np.flatnonzero(codes >= 0), start + codes[codes >= 0]] = 1
            start += size
        for i, name in enumerate(self.columns):
            column = self.domain.column(name)
            span = column.high_steps - column.low_steps
            rows[:, start + i] = np.where(steps[:, i] < 0, 0.0, 2 * steps[:, i] / span - 1)
        return rows


def check_known(kind: str, features: Sequence[str], names: Sequence[str]) -> None:
    """Refuse features that are not among the names."""
    for name in features:
        if name not in names:
            raise _unknown(kind, name, names)


def check_target(domain: Domain, target: str, by_class: bool) -> None:
    """Refuse a target of the wrong kind."""
    right_kind, wrong_kind = ("attribute", "bounded column") if by_class else ("bounded column", "attribute")
    right, wrong = (domain.attributes, domain.columns) if by_class else (domain.columns, domain.attributes)
    if target not in right and target in wrong:
        raise InvalidRequest(
            f"The target {target} is of the wrong kind ({wrong_kind}); this model predicts another ({right_kind}).",
            "Choose another target or model.",
        )
    if target not in right:
        raise _unknown(right_kind, target, list(right))
    if by_class and domain.attribute(target).n_cells < 2:
        raise InvalidRequest(f"The target {target} has only one cell.", "Choose a target with at least two.")


def _unknown(kind: str, name: str, names: Sequence[str]) -> UnknownName:
    words = name.replace(";", " ").split()
    if len(words) > 1 and set(words) <= set(names):
        return UnknownName(f"There is no {kind} {name!r}.", f"Separate names by commas: {', '.join(words)}.")
    longer = [candidate for candidate in names if name.casefold() in candidate.casefold()]
    if len(longer) == 1:
        is_parted = "," in longer[0]
        meant = written_in_list(longer[0]) if is_parted else repr(longer[0])
        ending = ": a name with a comma stands in double quotes." if is_parted else "."
        return UnknownName(f"There is no {kind} {name!r}.", f"Perhaps it is {meant}{ending}")
    return UnknownName.among(kind, name, names)
