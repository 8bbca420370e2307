"""Scores as scikit-learn computes them."""

from typing import Any


class Scored:
    """Stands before scikit-learn's mixin for classifiers or regressors, and says what its `score` means for privacy."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy (of a classifier) or R² (of a regression) of `predict` on rows X and targets y (n,).

        It looks at them without privacy, and no ledger pays: for rows that are public, or for your own eyes.
        """
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]
