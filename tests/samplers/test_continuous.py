"""Real variables have all the digits that floats hold. Keys are fixed."""

import math

import numpy as np
import scipy.stats

import gaugedp as gd
from gaugedp.samplers.continuous import exponentials, normals, uniforms
from tests.samplers.playback import Playback


def test_uniform_numbers_have_53_random_bits() -> None:
    numbers = uniforms(4000, gd.research_rng(1)) * 2.0**53
    assert (numbers == np.round(numbers)).all()
    assert (numbers < 2.0**53).all()
    for bit in range(53):
        share = (numbers.astype(np.int64) >> bit & 1).mean()
        assert abs(share - 0.5) < 5 / math.sqrt(4 * 4000), bit


def test_the_tail_of_an_exponential_has_no_end() -> None:
    """64 zeros, twice 64 more, and 63: V = 1."""
    assert exponentials(1, Playback([[0], [0]], [0, 0, 1]))[0] == (64 + 64 + 64 + 63) * math.log(2)


def test_normal_numbers_have_their_law() -> None:
    """Kolmogorov's test, and pairs from one length: neither they nor their squares are correlated. Alarms: 1e-6."""
    numbers = normals(100_000, gd.research_rng(2))
    assert scipy.stats.kstest(numbers, scipy.stats.norm.cdf).pvalue > 1e-6
    assert abs((numbers**2).mean() - 1) < 5 * math.sqrt(2 / len(numbers))
    for pairs in (numbers.reshape(2, -1), numbers.reshape(2, -1) ** 2):
        assert abs(np.corrcoef(pairs)[0, 1]) < 5 / math.sqrt(50_000)
    assert normals(7, gd.research_rng(3)).shape == (7,)
