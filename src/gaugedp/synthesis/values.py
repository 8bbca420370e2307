"""What stands in the rows: the text of a category or date, a whole number, or a number drawn within its bin."""

import numpy as np

from gaugedp._runs import whole_where_all_are
from gaugedp.attributes import OTHER
from gaugedp.entropy import Entropy
from gaugedp.queries.outline import Axis
from gaugedp.samplers.continuous import uniforms


def values(axis: Axis, cells: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return the value of each row's cell, shape (n_rows,): texts as objects, else numbers.

    Numbers in bins are uniform there, and whole where all borders are. The cell of other values is the text "other", or
    no number.
    """
    if axis.borders:
        return _in_bins(np.array(axis.borders), cells, rng)
    if axis.values == "numbers":
        numbers = np.array([np.nan if text == OTHER else float(text) for text in axis.texts])
        return whole_where_all_are(numbers[cells])
    return np.array([*axis.texts, None], dtype=object)[:-1][cells]


def _in_bins(borders: np.ndarray, cells: np.ndarray, rng: Entropy) -> np.ndarray:
    low = np.append(borders[:-1], np.nan)[cells]
    width = np.append(np.diff(borders), np.nan)[cells]
    numbers = np.minimum(low + width * uniforms(len(cells), rng), np.nextafter(low + width, low))
    return whole_where_all_are(np.floor(numbers)) if (borders % 1 == 0).all() else numbers
