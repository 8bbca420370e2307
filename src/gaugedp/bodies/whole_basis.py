"""Integer bases of the rows of a matrix."""

import numpy as np


def whole_basis(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return integers M (d, r) and r rows of F with F = M·F[rows], or None."""
    import scipy.linalg

    triangle, order = scipy.linalg.qr(columns.T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    # 1e-12: of the longest row: what is taken for dependent is checked in whole numbers
    rank = int((sizes > 1e-12 * sizes[0]).sum())
    if rank == len(columns):
        return np.eye(rank), np.arange(rank)
    if not (columns == np.rint(columns)).all():
        return None
    rows = order[:rank]
    left = np.rint(columns @ np.linalg.pinv(columns[rows]))
    # 2.0**52: whole numbers below this are exact in floats
    is_exact = (np.abs(left) @ np.abs(columns[rows])).max() < 2.0**52 and np.array_equal(left @ columns[rows], columns)
    return (left, rows) if is_exact else None
