"""Fits in several calls, each of which is charged."""

from dataclasses import replace
from typing import Any

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee


class PartialFits:
    """Mixin for estimators whose fit is a function of noisy sums: `partial_fit` adds to them."""

    _noisy_sums: np.ndarray | None = None  # noisy, of all calls
    _continues = False
    _sums_settings = ""

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, **weights: Any) -> Any:
        """Add rows X (n, d) to a fit, with noise of their own and a charge of its own.

        `classes` are accepted in the first call of a classifier, as in scikit-learn, if the model has none.

        Theorem. Each call is (ε, δ)-DP for its rows; `guarantee_` composes all calls. A row that is in one call only
        has the guarantee of that call: the ledger, which cannot know this, adds all of them up.
        """
        first = self._noisy_sums is None
        if classes is not None and vars(self).get("classes") is None:
            vars(self)["classes"] = classes
        if not first:
            self._refuse_other_shape(X)
        earlier = None if first else vars(self)["guarantee_"]
        self._continues = True
        try:
            self.fit(*(each for each in (X, y) if each is not None), **weights)  # type: ignore[attr-defined]
        finally:
            self._continues = False
        if earlier is not None:
            self._compose(earlier)
        return self

    def _settings(self) -> str:
        return repr([vars(self).get(name) for name in ("bounds", "classes", "neighbours", "weight_bound")])

    def _added(self, noisy: np.ndarray) -> np.ndarray:
        """Return the noisy sums, with those of earlier calls in a partial fit."""
        self._noisy_sums = noisy + self._noisy_sums if self._continues and self._noisy_sums is not None else noisy
        self._sums_settings = self._settings()
        return self._noisy_sums

    def _refuse_other_shape(self, X: Any) -> None:
        """Refuse columns that earlier calls did not have, by shape and names, before the charge."""
        if self._settings() != self._sums_settings:
            raise InvalidRequest("bounds or classes differ from those of the earlier calls.", "Keep them, or use fit.")
        self._like_fitted(X)  # type: ignore[attr-defined]

    def _compose(self, earlier: Guarantee) -> None:
        """State the guarantee of all calls."""
        self.guarantee_ = earlier + vars(self)["guarantee_"]
        self.release_ = replace(vars(self)["release_"], guarantee=self.guarantee_)
