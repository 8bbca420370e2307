"""Draws of L·g for a strategy L: for releases, errors and descriptions.

Those that describe noise, and are never released, are numpy's with a public seed.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gaugedp._internal.trial_stream import PUBLIC_SEED, trial_stream
from gaugedp.entropy import Entropy, research_rng
from gaugedp.mechanisms.strategies import Strategy
from gaugedp.samplers.continuous import exponentials, normals, signs

_DRAWN = 2**20  # variables drawn at a time
_CACHED_NUMBERS = 4 * 10**6  # for plans for other guarantees


def drawn(strategy: Strategy, size: int, is_normal: bool, rng: Entropy) -> np.ndarray:
    """Return L·g (size, d), g normal or Laplace."""
    return strategy.apply(units(size * strategy.n_noise, is_normal, rng).reshape(size, strategy.n_noise))


def units(count: int, is_normal: bool, rng: Entropy) -> np.ndarray:
    """Return independent variables, drawn in batches to save memory."""
    unit = np.empty(count)
    for start in range(0, count, _DRAWN):
        size = min(_DRAWN, count - start)
        part = normals(size, rng) if is_normal else signs(size, rng) * exponentials(size, rng)
        unit[start : start + size] = part
    return unit


def batches(strategy: Strategy, size: int) -> list[int]:
    """Return the batch sizes for `size` draws."""
    most = max(1, 2**22 // _numbers(strategy))  # numbers in memory at a time
    return [min(most, size - start) for start in range(0, size, most)]


def public_draws(strategy: Strategy, size: int, is_normal: bool) -> Iterator[np.ndarray]:
    """Yield draws with a public seed, cached if few.

    A plan chooses the noise by errors estimated from them, so their stream must not change.
    """
    is_small = size * _numbers(strategy) <= _CACHED_NUMBERS
    return iter(_kept(strategy, size, is_normal)) if is_small else _in_turn(strategy, size, is_normal)


def in_order(strategy: Strategy, size: int, is_normal: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted largest relative noise, and sorted magnitudes (Laplace only)."""
    is_small = size * _numbers(strategy) <= 4 * _CACHED_NUMBERS
    return _kept_in_order(strategy, size, is_normal) if is_small else _sorted(strategy, size, is_normal)


def _numbers(strategy: Strategy) -> int:
    return strategy.n_noise + len(strategy.squares)


def _in_turn(strategy: Strategy, size: int, is_normal: bool) -> Iterator[np.ndarray]:
    rng = research_rng(PUBLIC_SEED)
    return (drawn(strategy, count, is_normal, rng) for count in batches(strategy, size))


def trial_draws(strategy: Strategy, size: int, is_normal: bool, seed: int) -> Iterator[np.ndarray]:
    """Yield L·g for `size` draws by numpy, never for a release."""
    rng = trial_stream(seed)
    for count in batches(strategy, size):
        shape = (count, strategy.n_noise)
        yield strategy.apply(rng.standard_normal(shape) if is_normal else rng.laplace(size=shape))


@lru_cache(maxsize=2)
def _kept(strategy: Strategy, size: int, is_normal: bool) -> list[np.ndarray]:
    return list(_in_turn(strategy, size, is_normal))


@lru_cache(maxsize=2)
def _kept_in_order(strategy: Strategy, size: int, is_normal: bool) -> tuple[np.ndarray, np.ndarray]:
    return _sorted(strategy, size, is_normal)


def _sorted(strategy: Strategy, size: int, is_normal: bool) -> tuple[np.ndarray, np.ndarray]:
    deviations = np.sqrt(strategy.squares * (1 if is_normal else 2))
    ratios, sizes = [np.zeros(0)], [np.zeros((0, len(deviations)))]
    for part in map(np.abs, trial_draws(strategy, size, is_normal, PUBLIC_SEED)):
        relative = np.divide(part, deviations, out=np.zeros_like(part), where=deviations > 0)
        ratios.append(relative.max(axis=1))
        sizes += [] if is_normal else [part]
    return np.sort(np.concatenate(ratios)), np.sort(np.concatenate(sizes), axis=0)
