"""Compiled steps of the facet walk (the extra `fast`)."""

from typing import Any

import numba
import numpy as np

_compiled = numba.njit(cache=True, error_model="numpy")


def compiled_steps(chains: Any, ridges: np.ndarray, coins: np.ndarray) -> None:
    """Take the same steps as `numpy_steps`, up to rounding."""
    matrix = chains.columns, np.ascontiguousarray(chains.columns.T)
    _walk(matrix, (chains.basis, chains.signs, chains.inverse, chains.products), ridges, coins)


@_compiled
def _walk(matrix, states, ridges, coins):
    basis, signs, inverse, products = states
    for chain in range(basis.shape[0]):
        in_basis = np.zeros(matrix[0].shape[1], dtype=np.bool_)
        in_basis[basis[chain]] = True
        state = basis[chain], signs[chain], inverse[chain], products[chain]
        for step in range(ridges.shape[0]):
            _step(matrix, state, in_basis, ridges[step, chain], coins[step, chain])


@_compiled
def _step(matrix, state, in_basis, ridge, coin):
    columns, rows = matrix
    basis, signs, inverse, products = state
    row = inverse[ridge].copy()
    along = row @ columns
    leaving = basis[ridge]
    along[leaving] = signs[ridge]
    in_basis[leaving] = False
    entering, gap = _met(along, products, in_basis)
    in_basis[leaving] = True
    if coin >= abs(along[entering]):
        return
    sign = -1.0 if along[entering] > 0 else 1.0
    column = inverse @ rows[entering] * sign
    pivot = column[ridge]
    products -= max(gap, 0.0) * along
    _exchange(inverse, row, column, ridge)
    in_basis[leaving] = False
    in_basis[entering] = True
    basis[ridge], signs[ridge] = entering, sign
    if abs(pivot) < 0.02:
        _invert(matrix, state)


@_compiled
def _met(along, products, in_basis):
    entering, least = -1, np.inf
    for j in range(len(along)):
        size = abs(along[j])
        if size > 1e-9 and not in_basis[j]:
            gap = ((1.0 - products[j]) if along[j] <= 0 else (1.0 + products[j])) / size
            if gap < least:
                entering, least = j, gap
    return entering, least


@_compiled
def _exchange(inverse, row, column, ridge):
    pivot = column[ridge]
    for i in range(len(column)):
        factor = column[i] / pivot if i != ridge else 1.0 - 1.0 / pivot
        for j in range(len(row)):
            inverse[i, j] -= factor * row[j]


@_compiled
def _invert(matrix, state):
    columns, rows = matrix
    basis, signs, inverse, products = state
    facet = np.empty(inverse.shape)
    for i in range(len(basis)):
        facet[:, i] = rows[basis[i]] * signs[i]
    inverse[:] = np.linalg.inv(facet)
    normal = np.zeros(len(basis))
    for i in range(len(basis)):
        normal += inverse[i]
    products[:] = normal @ columns
