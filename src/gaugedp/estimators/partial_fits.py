"""Fits in several calls, each of which is charged."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee

_KEPT = ("bounds", "classes", "neighbours", "weight_bound")


class PartialFits:
    """Mixin for estimators whose fit is a function of noisy sums: `partial_fit` adds to them."""

    _noisy_sums: np.ndarray | None = None  # noisy, of all published calls
    _pending: np.ndarray | None = None  # with the call that is not published yet
    _total: Guarantee | None = None  # of the pending sums
    _n_calls = 1  # whose noise is in the pending sums
    _n_published = 0  # the same of the published ones
    _continues = False
    _sums_settings: Any = None

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, **weights: Any) -> Any:
        """Add new rows X (n, d) to the model.

        Use it if rows arrive in parts. Each call adds noise of its own and is charged separately. As in scikit-learn,
        the first call of a classifier accepts `classes`, if the model has none.

        Theorem. Each call is (ε, δ)-DP for its rows, and `guarantee_` composes all calls. A row that is in only one
        call has the guarantee of that call. The ledger, which cannot know this, adds up all calls.
        """
        first = self._noisy_sums is None
        if classes is not None and vars(self).get("classes") is None:
            vars(self)["classes"] = classes
        if not first:
            self._refuse_other_shape(X, weights.get("sample_weight") is not None)
        self._continues = True
        try:
            self.fit(*(each for each in (X, y) if each is not None), **weights)  # type: ignore[attr-defined]
        finally:
            self._continues = False
        return self

    def _settings(self, has_weights: bool) -> list[Any]:
        return [_exact(vars(self).get(name)) for name in _KEPT] + [has_weights]

    def _added(self, noisy: np.ndarray, guarantee: Guarantee) -> np.ndarray:
        """Return the noisy sums, with those of earlier calls in a partial fit.

        They are kept when the fit is published. Until then the model may show this fit and the one before.
        """
        earlier, continues = vars(self).get("guarantee_"), self._continues and self._noisy_sums is not None
        self._total = earlier + guarantee if continues and earlier is not None else guarantee
        self.guarantee_ = guarantee if earlier is None else earlier + guarantee
        self._n_calls = 1 + (self._n_published if continues else 0)
        if not continues:
            self._noisy_sums = None  # those of a fit that is replaced
        self._pending = noisy if self._noisy_sums is None else noisy + self._noisy_sums
        return self._pending

    def _publish(self, values: Any, guarantee: Guarantee, exactness: str, facts: Any, reservation: Any) -> None:
        total, pending = self._total or guarantee, self._pending
        super()._publish(values, total, exactness, facts, reservation)  # type: ignore[misc]
        self._noisy_sums, self._pending, self._total = pending, None, None
        self._n_published = self._n_calls
        self._sums_settings = self._settings(vars(self).get("_weights_up_to", 0.0) > 0)

    def _refuse_other_shape(self, X: Any, has_weights: bool) -> None:
        """Refuse columns that earlier calls did not have, by shape and names, before the charge."""
        if self._settings(has_weights) != self._sums_settings:
            raise InvalidRequest(
                "This call to `partial_fit` differs from earlier ones in its bounds, its classes, or whether it "
                "has weights.",
                "Pass the same bounds and classes in all calls, and weights in all or none. To start again, call "
                "`fit`.",
            )
        self._like_fitted(X)  # type: ignore[attr-defined]


def _exact(value: Any) -> Any:
    """Return all entries as texts; the repr of a long array leaves some out."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    entries = value.items() if isinstance(value, Mapping) else value
    if isinstance(entries, Iterable) and not isinstance(entries, str):
        return [_exact(entry) for entry in entries]
    return repr(value)
