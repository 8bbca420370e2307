"""Scores of a predictor from elsewhere, in the place of a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp._internal.cells import is_nested
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.labels import codes_of, read_classes, read_labels
from gaugedp.estimators.rows import read_bounds, read_table, read_target


@dataclass(frozen=True, eq=False)
class GivenScores:
    """A predictor whose rows are its predictions.

    They are probabilities of the second class (n, 1) or of all (n, K) for sorted `classes`, or numbers (n, 1).
    """

    classes: np.ndarray | None
    target_bounds: Any

    @classmethod
    def of(cls, classes: Any, target_bounds: Any) -> "GivenScores":
        """Return the predictor for public classes, or bounds of a number."""
        if (classes is None) == (target_bounds is None):
            raise InvalidRequest(
                "Exactly one of `classes` and `target_bounds` must be given.",
                "Pass classes=[...] for a classifier or target_bounds=(low, high) for a regressor, from public "
                "knowledge, never from the data.",
            )
        if classes is not None:
            return cls(read_classes(classes), None)
        return cls(None, tuple(map(float, read_bounds("target_bounds", target_bounds))))

    def rows(self, y_score: Any) -> np.ndarray:
        """Return predictions (n, k) as rows; refuse other shapes."""
        n_columns = 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)
        is_flat = len(getattr(y_score, "shape", (0,))) == 1 and not is_nested(y_score)
        rows = read_target(y_score, len(y_score), "y_score")[:, None] if is_flat else read_table(y_score, 0)
        if rows.shape[1] not in {n_columns, 1 if self.classes is None else len(self.classes)}:
            raise InvalidRequest(
                f"`y_score` has {rows.shape[1]} columns, but must have {n_columns}.",
                "Pass the probability of each class, or one predicted number.",
            )
        return rows

    def predict(self, rows: Any) -> np.ndarray:
        """Return the predicted numbers (n,)."""
        return np.asarray(np.asarray(rows)[:, 0])

    def _probabilities(self, rows: Any) -> np.ndarray:
        rows = np.asarray(rows)
        return rows if rows.shape[1] > 1 else np.hstack([1 - rows, rows])


def read_groups(group: Any, groups: Any, n_rows: int) -> tuple[np.ndarray, list[Any]]:
    """Return the codes (n,) of the rows' groups and the public groups; the code is 0 without groups."""
    if (group is None) != (groups is None):
        raise InvalidRequest(
            "Only one of `group` and `groups` is given.",
            "Pass the group of each row as `group`, and the public list of groups as `groups`.",
        )
    if group is None:
        return np.zeros(n_rows, dtype=int), []
    listed = read_classes(groups)
    return codes_of(read_labels(group, n_rows), listed), listed.tolist()
