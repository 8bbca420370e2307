"""Rows for estimators: checked shapes, clipped values, exact sums."""

from typing import Any

import numpy as np

from gaugedp._internal.cells import entries_of, holds_lists, kind_of, numbers, read_cells
from gaugedp._internal.validate import positive
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.lattice import SUM_BITS
from gaugedp.optimization.row_blocks import slices

Box = tuple[np.ndarray, np.ndarray]  # (low, high) of the columns


def read_table(X: Any, least: int = 1) -> np.ndarray:
    """Return X as floats (n, d).

    n is at least `least` and d at least 1. Every cell is read independently, and anything that is not a number is NaN
    (`read_cells`); infinities are kept. Refusals depend on type and shape only, for lists and objects on those of
    most cells.
    """
    rows = read_array(X)
    check_shape(rows.shape, least)
    return rows


def read_array(X: Any) -> np.ndarray:
    """Return a table or matrices as floats; sparse ones become dense, lazy ones are refused."""
    if hasattr(X, "tocsr"):
        return read_cells(X.toarray())
    if hasattr(X, "collect"):
        raise InvalidRequest("X is a lazy frame, so its rows are not in memory.", "Pass X.collect().")
    return read_cells(X)


def check_shape(shape: tuple[int, ...], least: int) -> None:
    """Refuse shapes other than (n ≥ `least`, d ≥ 1), without stating a private n."""
    if len(shape) == 1:
        raise InvalidRequest(
            "X has one dimension, but must be a table with rows and columns.",
            "Reshape your data: a single column as frame[['age']] or x.reshape(-1, 1), no rows as np.zeros((0, d)).",
        )
    if len(shape) != 2:
        raise InvalidRequest(
            f"X has {len(shape)} dimensions, but must be a table with rows and columns.",
            "Pass an array of shape (n, d), with one row per unit.",
        )
    if shape[0] < least or shape[1] == 0:
        what, count = ("feature(s)", 0) if shape[0] >= least else ("sample(s)", shape[0])
        n_rows = shape[0] if least else "n"
        raise InvalidRequest(
            f"Found array with {count} {what} (shape=({n_rows}, {shape[1]})) while a minimum of 1 is required.",
            "Pass at least one row and one column.",
        )
    if shape[0] > 2**28:  # sums of products over more are not exact
        raise InvalidRequest(f"X has more than {2**28:,} rows.", "Fit the model to a sample of them.")


def products(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ⟨w, x⟩ (n,), each row summed independently.

    A product of matrices would not do: its last bits depend on the number of rows.
    """
    sums = np.empty(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for part in slices(rows):
            sums[part] = (np.ascontiguousarray(rows[part]) * weights).sum(axis=1)
    return sums


def read_target(y: Any, n_rows: int, name: str = "target") -> np.ndarray:
    """Return y as floats (n,), NaN for other entries.

    Every entry is read independently, as the number that it is or writes, so a single bad entry is not an error, even
    if it changed the type of the others. Dates, durations, complex numbers and other shapes are refused.
    """
    cells = entries_of(y)
    if kind_of(y) in "cmMV":
        raise InvalidRequest(
            f"The {name} consists of dates, durations or complex numbers, but must consist of real numbers.",
            "Convert it to real numbers.",
        )
    if cells.shape != (n_rows,) or holds_lists(y):
        raise InvalidRequest(f"The {name} does not have one number per row.", "Pass a number for each row of X.")
    return numbers(cells)


def with_targets(neighbours: str, target: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the target (n,) and arrays (n, …) without the rows that lack a target, if rows are added or removed.

    Theorem. Such a row is as if it were absent, so the result changes by at most the row in which tables differ.
    """
    if neighbours == "replace":
        return target, *columns
    is_known = ~np.isnan(target)
    return target[is_known], *(column[is_known] for column in columns)


def read_bounds(name: str, bounds: Any, n_columns: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high), each (n_columns,), or scalars if None.

    Missing bounds are refused, and so are lists of pairs, one per column, and for two columns plain lists or tuples
    that can be read that way: they would clip every row wrongly, without an error. A tuple of two lists, two arrays,
    and an array of shape (2, d) always mean (lows, highs).
    """
    if bounds is None:
        raise InvalidRequest(
            f"`{name}` is missing.", f"Specify {name}=(low, high) from public knowledge, never from the data."
        )
    if n_columns is not None:
        _check_pairs(name, bounds, n_columns)
    try:
        low, high = (np.asarray(end, dtype=float) for end in (() if isinstance(bounds, dict) else bounds))
    except (TypeError, ValueError):
        raise InvalidRequest(f"`{name}` is not a pair.", f"Pass {name}=(low, high).") from None
    shape = () if n_columns is None else (n_columns,)
    if low.shape not in {(), shape} or high.shape not in {(), shape}:
        raise InvalidRequest(
            f"`{name}` has {_sizes(low, high)} numbers, but X has {n_columns or 1} columns.",
            "Pass one pair for all columns, or one low and one high per column: ([lows], [highs]).",
        )
    low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InvalidRequest(f"`{name}` contains NaN or infinity.", f"Pass {name}=(low, high) as finite numbers.")
    if not (low < high).all():
        where = "" if n_columns is None else f" in column {int(np.argmin(low < high))} (columns are counted from 0)"
        raise InvalidRequest(
            f"In `{name}`, a lower bound is not below the upper bound{where}.",
            f"Pass {name}=(low, high) with low < high{'' if n_columns is None else ', or ([lows], [highs])'}; "
            "omit a column with a single value, or widen its bounds.",
        )
    if not ((high / 2 - low / 2 > 2.0**-300) & (np.abs([low, high]).max(axis=0) < 2.0**300)).all():
        raise InvalidRequest(
            f"The width of `{name}` is too small or too large for floating-point computations.",
            "Scale the columns so that their values are of ordinary size.",
        )
    return low, high


def check_one_given(bounds: Any, row_norm: Any) -> None:
    """Refuse both or neither of bounds and row_norm."""
    if (bounds is None) == (row_norm is None):
        raise InvalidRequest(
            "Either `bounds` or `row_norm` must be given.",
            "Specify bounds=(low, high), or `row_norm`, from public knowledge, never from the data.",
        )


def _sizes(low: np.ndarray, high: np.ndarray) -> str:
    return f"{low.size} and {high.size}" if low.ndim < 2 and high.ndim < 2 else "more than a row of"


def _check_pairs(name: str, bounds: Any, n_columns: int) -> None:
    plain = isinstance(bounds, list | tuple) and all(isinstance(entry, list | tuple) for entry in bounds)
    if not plain or any(len(entry) != 2 for entry in bounds):
        return
    if len(bounds) == n_columns == 2:
        (a, b), (c, d) = bounds
        as_ends, as_pairs = _make(a, c) and _make(b, d), _make(a, b) and _make(c, d)
        as_documented = isinstance(bounds, tuple) and all(isinstance(entry, list) for entry in bounds)
        if as_ends and as_pairs and b != c and not as_documented:
            raise InvalidRequest(
                f"`{name}` is ambiguous: it could mean ([lows], [highs]), or one pair for each of the two columns.",
                f"Pass {name}=np.array([lows, highs]), or for a data frame {{'age': (17, 90), ...}}.",
            )
        if as_ends or not as_pairs:
            return
    elif len(bounds) == 2:
        return  # of the wrong shape either way
    raise InvalidRequest(
        f"`{name}` is a list of pairs, but must be a pair of lists: lower bounds, then upper bounds.",
        f"Pass {name}=([lows], [highs]), such as ([17, 1, 0], [90, 16, 100]).",
    )


def _make(low: Any, high: Any) -> bool:
    try:
        return bool(float(low) < float(high))
    except (TypeError, ValueError, OverflowError):
        return False


def as_read(rows: np.ndarray, box: Box | None = None) -> np.ndarray:
    """Return the rows as every estimator reads them.

    In a box, given by `bounds`, a number is clipped to its column's bounds, and a missing or invalid one counts as
    their middle. Without a box a row with an entry that is not finite counts as 0.
    """
    if box is None:
        finite = np.isfinite(rows)
        return rows if finite.all() else np.where(finite.all(axis=1, keepdims=True), rows, 0.0)
    low, high = box
    return np.clip(np.where(np.isnan(rows), (low + high) / 2, rows), low, high)


def into_box(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the rows read in the box, scaled to [−1, 1]."""
    with np.errstate(over="ignore"):
        scaled = np.subtract(rows, (low + high) / 2)
        scaled /= (high - low) / 2
    np.clip(scaled, -1, 1, out=scaled)
    scaled[np.isnan(scaled)] = 0.0
    return scaled


def into_ball(rows: np.ndarray, p: float, row_norm: float) -> np.ndarray:
    """Return the rows over `row_norm`, clipped to the ℓ_p unit ball."""
    positive(row_norm=row_norm)
    with np.errstate(over="ignore", invalid="ignore"):
        # C order, so that each norm is summed in the same order
        inside = np.ascontiguousarray(rows) * (1 / row_norm)
        lengths = lengths_of(inside) if p == 2 else np.linalg.norm(inside, p, axis=1)
        inside *= (1 / np.maximum(lengths, 1.0))[:, None]
    odd = ~np.isfinite(lengths)
    if odd.any():
        inside[odd] = _far_into_ball(as_read(rows[odd]), p, row_norm)
    return inside


def lengths_of(rows: np.ndarray) -> np.ndarray:
    """Return the ℓ₂ norms of rows, each summed independently."""
    lengths: np.ndarray = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths


def _far_into_ball(rows: np.ndarray, p: float, row_norm: float) -> np.ndarray:
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), row_norm)
    shrunk = rows / largest
    return shrunk / np.maximum(np.linalg.norm(shrunk, p, axis=1, keepdims=True), row_norm / largest)


def box_steps(scaled: np.ndarray, bits: int = SUM_BITS) -> np.ndarray:
    """Return numbers in [−1, 1] as integer multiples of 2^−bits.

    They are rounded to the nearest. Integers below 2^53 add up exactly in floats, in any order: sums of neighbours
    differ only by the difference of their rows. `SUM_BITS` are for sums over 2^30 rows, `BITS` for sums of products
    over 2^28.
    """
    return np.rint(scaled * 2.0**bits)


def ball_steps(scaled: np.ndarray, bits: int = SUM_BITS) -> np.ndarray:
    """Return the same, truncated so that no norm grows."""
    steps = scaled * 2.0**bits
    return np.trunc(steps, out=steps)
