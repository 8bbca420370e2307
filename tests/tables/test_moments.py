"""Moments of a batch: scaled values by hand, what is missing as 0."""

import numpy as np

from gaugedp.tables.moments import Scaled


def test_a_batch_by_hand() -> None:
    """Steps of two columns, of spans 4 and 2; below 0 a number is missing, and counts as the middle."""
    batch = Scaled((4, 2), bits=3, products=True)
    steps = np.array([[0.0, 2.0], [4.0, -1.0], [-1.0, 1.0]])
    moments = batch.unpacked(batch(np.zeros(3), steps))
    assert (moments.n_rows, moments.first.tolist()) == (3, [0, 8]), "-8 + 8 + 0, and 8 + 0 + 0"
    assert moments.second is not None
    assert moments.second.tolist() == [[128, -64], [-64, 64]]
