"""P-values of a release, from its numbers and draws of its noise. Post-processing."""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.queries.base import Query
from gaugedp.statistics.base import Statistic


def concluded(query: Query, mechanism: Mechanism, numbers: np.ndarray) -> tuple[Statistic, ...]:
    """Return the estimates of a query with what follows from its released `numbers`."""
    starts = np.cumsum([len(part.steps) for part in query.parts])[:-1]
    of_parts = zip(query.parts, mechanism.parts, np.split(numbers, starts), strict=True)
    return tuple(chain.from_iterable(_of_part(*each) for each in of_parts))


def _of_part(part: Query, noise: Mechanism, numbers: np.ndarray) -> Iterator[Statistic]:
    start = 0
    for estimate in part.estimates:
        places = slice(start, start + estimate.n_released)
        yield _of_term(estimate, noise, places, part, numbers) if estimate.is_test else estimate
        start += estimate.n_released


def _of_term(estimate: Statistic, noise: Mechanism, places: slice, part: Query, numbers: np.ndarray) -> Statistic:
    units, indices = part.steps.sizes[places], np.arange(places.start, places.stop)

    def draws(size: int, seed: int) -> np.ndarray | None:
        """Return draws of the noise; None for walks, whose draws are dependent."""
        if not isinstance(noise, AdditiveNoise) or noise.exactness == "mixing":
            return None
        few = min(size, max(999, 10**8 // noise.n_answers))  # at most 10^8 numbers in all
        at_once = max(1, 10**7 // noise.n_answers)
        parts = [noise.trials_of(indices, min(at_once, few - at), seed + at) for at in range(0, few, at_once)]
        return np.concatenate(parts) * units

    return estimate.concluded(numbers[places].astype(float) * units, draws)
