"""The stream of randomness: repeatable where asked for, never used twice, its own in every process."""

import copy
import itertools
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import strategies as st
from scipy import stats

from gaugedp.entropy import Entropy, research_rng, system_rng
from gaugedp.errors import InvalidRequest
from tests.steady import given

BUFFER = 32768
FORK = """
import os, sys
from gaugedp.entropy import research_rng, system_rng
rng = {rng}
rng.bytes({before})
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, rng.bytes(64))
    os._exit(0)
mine = rng.bytes(64)
os.wait()
print(mine == os.read(reading, 64))
"""


def key_stream(seed: int, count: int) -> bytes:
    """Return the ChaCha20 key stream of the key `seed`, 32 bytes little-endian, counter and nonce zero."""
    key = seed.to_bytes(32, "little")
    return Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(count))


@pytest.mark.parametrize("seed", [0, 1, 2**64, 2**256 - 1])
def test_a_research_stream_is_the_key_stream_of_its_seed(seed: int) -> None:
    rng = research_rng(seed)
    assert b"".join(rng.bytes(1024) for _ in range(100)) == key_stream(seed, 102_400)
    assert not rng.is_secure


def test_equal_seeds_repeat_and_others_differ() -> None:
    assert research_rng(5).bytes(1000) == research_rng(5).bytes(1000)
    assert research_rng(5).bytes(1000) != research_rng(6).bytes(1000)
    assert research_rng(np.int64(5)).bytes(99) == research_rng(5).bytes(99)


def test_system_streams_are_secure_and_differ() -> None:
    first, second = system_rng(), system_rng()
    assert first.is_secure
    assert first.bytes(32) != second.bytes(32)


def places(requests: list[int]) -> list[tuple[int, int]]:
    """Return where in the key stream each answer to `requests` stands; each must stand there once."""
    stream, rng, actual = key_stream(7, 2 * BUFFER * (len(requests) + 1)), research_rng(7), []
    for count in requests:
        answer = rng.bytes(count)
        assert len(answer) == count
        start = stream.find(answer)
        assert start >= 0
        actual.append((start, start + count))
    return actual


def check_no_reuse(requests: list[int]) -> None:
    taken = sorted(places(requests))
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(taken))


@given(st.lists(st.one_of(st.integers(16, 64), st.integers(BUFFER - 20, BUFFER + 20), st.integers(16, 2 * BUFFER))))
def test_no_byte_is_handed_out_twice(requests: list[int]) -> None:
    check_no_reuse(requests[:12])


@pytest.mark.parametrize("requests", [[16, BUFFER + 1, 16], [BUFFER, BUFFER, 16], [16] * 5000, [BUFFER - 8, 16, 16]])
def test_no_byte_is_handed_out_twice_around_a_refill(requests: list[int]) -> None:
    check_no_reuse(requests)


def test_mixed_calls_hand_out_no_block_twice() -> None:
    rng, blocks = research_rng(3), []
    for count in [1, 100, 4095, 4096, 4097, 9000] * 3:
        blocks += [rng.words(2 * count).tobytes(), rng.integer(128 * count).to_bytes(16 * count, "little")]
        blocks.append(np.packbits(rng.bits(128 * count)).tobytes())
    pieces = [block[i : i + 16] for block in blocks for i in range(0, len(block), 16)]
    assert len(pieces) > 100_000
    assert len(set(pieces)) == len(pieces)


def test_small_requests_skip_nothing_inside_a_buffer() -> None:
    rng = research_rng(9)
    parts = [rng.bytes(1 + i % 7) for i in range(8000)]
    assert b"".join(parts) == key_stream(9, BUFFER)[: sum(map(len, parts))]


def test_views_of_the_stream_agree() -> None:
    stream = key_stream(4, 800)
    assert research_rng(4).words(100).tobytes() == stream
    assert np.packbits(research_rng(4).bits(6400)).tobytes() == stream
    assert research_rng(4).integer(6400) == int.from_bytes(stream, "little")


def test_nothing_may_be_asked_for() -> None:
    rng = research_rng(1)
    assert rng.words(0).shape == rng.bits(0).shape == (0,)
    assert rng.bytes(0) == b""
    assert rng.integer(0) == 0


def test_types_and_ranges() -> None:
    rng = research_rng(2)
    assert rng.words(3).dtype == np.uint64
    assert rng.bits(13).dtype == bool
    assert rng.bits(13).shape == (13,)
    assert all(0 <= rng.integer(n) < 2**n for n in range(1, 130) for _ in range(20))


def uniform_p_value(values: np.ndarray, n_values: int) -> float:
    return float(stats.chisquare(np.bincount(values, minlength=n_values)).pvalue)


@pytest.mark.statistical
def test_bits_words_and_integers_are_uniform() -> None:
    """Six chi-squares with fixed keys at 1e-7 each: a false alarm has a chance below 1e-6."""
    rng = research_rng(11)
    words = rng.words(100_000)
    samples = [(words >> np.uint64(56), 256), (words & np.uint64(255), 256), (rng.bits(100_000), 2)]
    samples += [(np.array([rng.integer(n) for _ in range(20_000)]), 2**n) for n in (1, 3, 9)]
    assert min(uniform_p_value(values.astype(np.int64), n) for values, n in samples) > 1e-7


@pytest.mark.statistical
def test_the_uniformity_check_alarms() -> None:
    """The control: coins that fall on one side with chance 0.52 must alarm."""
    biased = (research_rng(12).words(100_000) >> np.uint64(32)).astype(float) < 0.52 * 2**32
    assert uniform_p_value(biased.astype(np.int64), 2) < 1e-7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(("rng", "equal"), [("system_rng()", "False"), ("research_rng(1)", "True")])
@pytest.mark.parametrize("before", [0, 100, 40_000])
def test_a_forked_system_stream_goes_its_own_way(rng: str, equal: str, before: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK.format(rng=rng, before=before)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == equal


@pytest.mark.parametrize("make", [system_rng, lambda: research_rng(1)])
@pytest.mark.parametrize("twice", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_cannot_be_copied(make, twice) -> None:
    with pytest.raises(TypeError, match="used only once"):
        twice(make())


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None, float("nan"), 2**256, np.float64(3)])
def test_bad_seeds_are_refused(seed: object) -> None:
    with pytest.raises(InvalidRequest, match="seed"):
        research_rng(seed)


def test_the_repr_says_whether_it_is_for_research() -> None:
    assert repr(system_rng()) == repr(Entropy()) == "Entropy()"
    assert repr(research_rng(3)) == "research_rng(3)"
