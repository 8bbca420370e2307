"""Base of private additive models: a sum of functions of one feature each."""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.cells import as_they_are, cells_of, columns_of, read_column, unread_cells
from gaugedp._internal.validate import between, whole
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.bin_search import BinSearch, LearnedBins, cells_within, equal_bins
from gaugedp.estimators.feature_names import check_names, names_of
from gaugedp.estimators.labels import codes_of
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import check_shape, read_bounds, read_table
from gaugedp.estimators.shape_functions import Bins, ShapeFunction, ShapePlot, monotone
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.optimization.best_weights import NormalMixture
from gaugedp.optimization.lattice import for_gaussian_releases, shared


@dataclass(frozen=True, eq=False)
class Layout:
    """Public facts of the columns: their reading, categories, edges that are given or None, and the kind of basis."""

    reading: Reading
    names: tuple[str, ...]
    categories: Mapping[int, tuple[Any, ...]]
    edges: Mapping[int, np.ndarray | None]
    has_levels: bool

    @property
    def learned(self) -> tuple[int, ...]:
        """Columns whose edges are learned."""
        return tuple(j for j, edges in self.edges.items() if edges is None)

    def search(self, guarantee: Guarantee, neighbours: str) -> BinSearch | None:
        """Return the search for edges with its share of the guarantee; None if all are public."""
        if not self.learned:
            return None
        assert self.reading.box is not None
        cells = tuple(cells_within(*(float(end[j]) for end in self.reading.box)) for j in self.learned)
        share = TUNED.edges_share_pure if isinstance(guarantee, PureDP) else TUNED.edges_share
        return BinSearch.calibrate(cells, shared(for_gaussian_releases(guarantee), share), neighbours)

    def bins(self, search: BinSearch | None, rows: np.ndarray, n_bins: int, rng: Entropy) -> tuple[Bins, ...]:
        """Return the bins of all columns, learned from rows (n, width) as they are read."""
        found = {} if search is None else dict(
            zip(self.learned, search.find(rows[:, list(self.learned)], n_bins, rng), strict=True)
        )  # fmt: skip
        return tuple(self._of_column(j, name, found) for j, name in enumerate(self.names))

    def trial_bins(self, n_bins: int) -> tuple[Bins, ...]:
        """Return bins of the same basis, of equal width where they would be learned."""
        assert self.reading.box is not None
        low, high = self.reading.box
        found = {j: LearnedBins(*equal_bins(float(low[j]), float(high[j]), n_bins)) for j in self.learned}
        return tuple(self._of_column(j, name, found) for j, name in enumerate(self.names))

    def _of_column(self, j: int, name: str, found: Mapping[int, LearnedBins]) -> Bins:
        if j in self.categories:
            return Bins.of_categories(name, self.categories[j])
        edges, weights, _ = found[j] if j in found else _public(self.edges[j])
        if self.has_levels and j in found:
            return Bins.of_groups(name, edges, weights, found[j].groups)
        return Bins.of_numbers(name, edges, TUNED.basis_functions, weights)


def _public(edges: np.ndarray | None) -> LearnedBins:
    assert edges is not None
    return LearnedBins(edges, np.full(len(edges) - 1, 1 / (len(edges) - 1)))


@dataclass(eq=False, repr=False)
class AdditiveModel(PrivateEstimator):
    """Base of additive models; subclasses fit the coefficients of the basis functions."""

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    bounds: Any = None
    missing_indicator: Any = False
    categories: Any = None
    bins: int = 64
    edges: Any = "private"
    monotone: Any = None
    solver: str = "auto"

    _has_levels: ClassVar[bool] = False  # whether groups of learned bins have levels of their own

    @property
    def shape_functions_(self) -> dict[str, ShapeFunction]:
        """The fitted functions, by name of the feature."""
        check_is_fitted(self, "n_features_in_")
        return {function.bins.name: function for function in self.functions_}

    def shape_table(self) -> list[dict[str, Any]]:
        """Return the functions as a list of dicts.

        There is one dict per feature and bin (and class), so that `pandas.DataFrame` accepts the list.
        """
        return [row for function in self.shape_functions_.values() for row in function.rows()]

    def plot(self, features: Any = None, *, level: float = 0.95) -> ShapePlot:
        """Return charts of the shape functions, for a notebook.

        `features` selects some of the features by name; by default all are drawn. If the solver provides standard
        errors, each chart has a confidence band at `level` (default 0.95). The band accounts for noise and sampling,
        but not for smoothing: it is for the best function of this shape, and a function with finer detail leaves it.
        """
        between(0, 1, level=level)
        functions = self.shape_functions_
        chosen = list(functions) if features is None else list(features)
        if not set(chosen) <= set(functions):
            raise InvalidRequest(
                "`features` contains a name that is not a feature of the fitted model.",
                "Use names that are keys of `shape_functions_`.",
                "",
            )
        return ShapePlot({name: functions[name] for name in chosen}, level)

    # -- before the charge -----------------------------------------------------------------------------

    def _rows(self, X: Any) -> np.ndarray:
        """Return rows (n, d); a listed category as its number, any other value of its column as the next one."""
        return coded(X, _listed(self.categories, X), 0 if self.neighbours == "add_remove" else 1)

    def _layout(self, X: Any, n_columns: int) -> Layout:
        whole(minimum=2, bins=self.bins)
        names, categories = names_of(X), _listed(self.categories, X)
        if max(categories, default=-1) >= n_columns:
            raise InvalidRequest(
                "`categories` names a column that X does not have.", "Use column names, or positions counted from 0."
            )
        box = _with_categories(self.bounds, names, n_columns, categories)
        reading = Reading.in_box(box, names, n_columns, self.missing_indicator)
        texts = [f"x{j}" for j in range(n_columns)] if names is None else [str(name) for name in names]
        texts += [f"{texts[j]} missing" for j in reading.indicators]
        self._signs(texts)
        return Layout(reading, tuple(texts), categories, self._edges(reading, texts, categories), self._has_levels)

    def _edges(self, reading: Reading, names: list[str], categories: Mapping[int, Any]) -> dict[int, np.ndarray | None]:
        assert reading.box is not None
        given: Mapping[Any, Any] = self.edges if isinstance(self.edges, Mapping) else {}
        if not given and not (isinstance(self.edges, str) and self.edges in ("private", "equal")):
            raise InvalidRequest(
                '`edges` must be "private", "equal" or a mapping from columns to bin edges.',
                "Pass, for example, edges={'age': [25, 45, 65]}.",
            )
        if not set(given) <= {*names, *range(reading.n_columns)}:
            raise InvalidRequest(
                "`edges` names a column that X does not have.", "Use column names, or positions counted from 0."
            )
        result: dict[int, np.ndarray | None] = {}
        for j in set(range(reading.width)) - set(categories):
            low, high = (float(end[j]) for end in reading.box)
            if j >= reading.n_columns:
                result[j] = np.array([low, (low + high) / 2, high])
            elif names[j] in given or j in given:
                result[j] = _read_edges(given.get(names[j], given.get(j)), low, high)
            else:
                private = self.edges == "private" and self.solver == "auto"
                result[j] = None if private else equal_bins(low, high, self.bins)[0]
        return dict(sorted(result.items()))

    def _signs(self, names: list[str]) -> dict[str, int]:
        if self.monotone is None:
            return {}
        pairs = self.monotone.items() if isinstance(self.monotone, Mapping) else [(None, 0)]
        signs: dict[Any, int] = {
            names[key] if isinstance(key, int) and 0 <= key < len(names) else key: sign for key, sign in pairs
        }
        if not set(signs) <= set(names) or not all(np.ndim(sign) == 0 and sign in (1, -1) for sign in signs.values()):
            raise InvalidRequest(
                "`monotone` must map columns of X to 1 (increasing) or -1 (decreasing).",
                "Pass, for example, monotone={'age': 1}; name columns as in X, or by their positions counted from 0.",
            )
        return signs

    # -- after the fit ---------------------------------------------------------------------------------

    def _show(
        self,
        layout: Layout,
        bins: tuple[Bins, ...],
        coefficients: np.ndarray,
        intercept: np.ndarray,
        law: NormalMixture | None = None,
    ) -> None:
        """Set the shape functions and the intercept from coefficients (K, k) and constants (K,).

        `law` is the distribution of the best coefficients (k + 1,), the intercept last.
        """
        self._read_by(layout.reading)
        signs, functions, start, total = self._signs(list(layout.names)), [], 0, np.array(intercept, dtype=float)
        for part in bins:
            of_part = slice(start, start + part.basis.shape[1])
            start = of_part.stop
            values = coefficients[:, of_part] @ part.basis.T
            if part.name in signs:
                values = np.array([monotone(line, part.weights, signs[part.name]) for line in values])
            middle = values @ part.weights
            total += middle
            values = values - middle[:, None]
            errors = None if law is None else _errors(law, part, of_part)
            functions.append(ShapeFunction(part, values[0] if len(values) == 1 else values, errors))
        self.functions_, self.intercept_ = tuple(functions), total

    @property
    def _shape_values(self) -> dict[str, np.ndarray]:
        values = {}
        for function in self.functions_:
            values[f"edges of {function.bins.name}"] = function.edges
            values[f"values of {function.bins.name}"] = function.values
            values[f"weights of {function.bins.name}"] = function.weights
            if function.standard_errors is not None:
                values[f"standard_errors of {function.bins.name}"] = function.standard_errors
        return values

    def _like_fitted(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "n_features_in_")
        check_names(type(self).__name__, getattr(self, "feature_names_in_", None), X)
        known = {j: function.categories for j, function in enumerate(self.functions_) if function.categories}
        return self._read_like_fitted(coded(X, known, 1))

    def _scores(self, X: Any) -> np.ndarray:
        """Return the sums of shape functions and intercept, (n,) or (n, K)."""
        rows = self._like_fitted(X)
        total = np.tile(self.intercept_, (len(rows), 1))
        for j, function in enumerate(self.functions_):
            total += np.atleast_2d(function.values).T[function.bins.codes(rows[:, j])]
        return total[:, 0] if total.shape[1] == 1 else total


def _errors(law: NormalMixture, part: Bins, of_part: slice) -> np.ndarray:
    """Return standard errors (B,) of a centred shape function."""
    matrix = np.zeros((len(part.weights), len(law.shift)))
    matrix[:, of_part] = part.basis - part.weights @ part.basis
    return law.mapped(matrix, np.zeros(len(matrix))).deviations


def coded(X: Any, categories: Mapping[int, tuple[Any, ...]], least: int) -> np.ndarray:
    """Return a table of numbers; a category as its number, any other value of its column as the next one."""
    if not categories:
        return read_table(X, least)
    columns = columns_of(X)
    if columns is None:
        cells = unread_cells(X.toarray() if hasattr(X, "tocsr") else X)
        if cells.ndim != 2 or cells.dtype.kind in "cmM":
            return read_table(X, least)  # refuses
        columns = [(str(j), cells[:, j]) for j in range(cells.shape[1])]
    read = [
        _codes(column, categories[j]) if j in categories else read_column(name, column)
        for j, (name, column) in enumerate(columns)
    ]
    rows = np.column_stack(read).astype(float)
    check_shape(rows.shape, least)
    return rows


def _codes(column: Any, categories: tuple[Any, ...]) -> np.ndarray:
    codes = codes_of(cells_of(column), as_they_are(categories))
    return np.where(codes < 0, len(categories), codes)


def _listed(categories: Any, X: Any) -> dict[int, tuple[Any, ...]]:
    if categories is None:
        return {}
    names = names_of(X)
    place_of = {name: place for place, name in enumerate([] if names is None else names.tolist())}
    pairs = categories.items() if isinstance(categories, Mapping) else [(None, ())]
    result: dict[int, tuple[Any, ...]] = {}
    for key, known in pairs:
        place = place_of.get(key) if isinstance(key, str) else key
        is_list = isinstance(known, list | tuple) and len(known) > 0 and _are_different(as_they_are(known))
        if not isinstance(place, int) or place < 0 or not is_list:
            raise InvalidRequest(
                "`categories` must map columns of X to lists of different strings or numbers.",
                "Pass, for example, categories={'sex': ['f', 'm']}; name columns as in X, or by their positions "
                "counted from 0.",
            )
        result[place] = tuple(known)
    return result


def _are_different(known: np.ndarray) -> bool:
    return codes_of(known, known).tolist() == list(range(len(known)))


def _with_categories(bounds: Any, names: np.ndarray | None, n_columns: int, categories: Mapping[int, Any]) -> Any:
    if not categories or (bounds is None and len(categories) < n_columns):
        return bounds
    if isinstance(bounds, Mapping) and names is not None:
        return {**bounds, **{names[j]: (0.0, float(len(known))) for j, known in categories.items()}}
    ends = read_bounds("bounds", (0.0, 1.0) if bounds is None else bounds, n_columns)
    low, high = (np.array(end) for end in ends)
    for j, known in categories.items():
        low[j], high[j] = 0.0, float(len(known))
    return low, high


def _read_edges(given: Any, low: float, high: float) -> np.ndarray:
    try:
        inner = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        inner = np.full(1, math.nan)
    if inner.ndim != 1 or not np.isfinite(inner).all() or (np.diff(inner) <= 0).any():
        raise InvalidRequest(
            "The bin edges of a column in `edges` are not increasing.",
            "Pass each edge once, in increasing order, such as edges={'age': [25, 45, 65]}.",
        )
    return np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])
