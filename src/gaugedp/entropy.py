"""Cryptographic randomness, with seeds only for research."""

import os
import threading
from typing import NoReturn

import numpy as np

from gaugedp._internal.validate import whole
from gaugedp.errors import InvalidRequest

_BLOCK_WORDS = 4096
_forks = 0  # how often this process is a fork of another


def _note_fork() -> None:
    global _forks  # noqa: PLW0603 - all streams must see it
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def fork_count() -> int:
    """Return how many forks separate this process from the first."""
    return _forks


class Entropy:
    """Stream of random bits: ChaCha20 with a secret 32-byte key.

    All noise is drawn from such a stream. By default the operating system supplies the key, and a forked process takes
    a new one, so two processes never share noise. A research stream takes its key from a seed. Its noise protects
    nobody, and everything that is made with it is marked with the seed. Streams can be neither copied nor pickled,
    because noise must be used only once.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._buffer, self._used = b"", 0
        self._rekey()

    @property
    def is_secure(self) -> bool:
        """True if the key came from the operating system."""
        return self.seed is None

    def words(self, count: int) -> np.ndarray:
        """Return `count` uniform 64-bit words, of dtype uint64."""
        return np.frombuffer(self.bytes(8 * count), dtype="<u8")

    def bits(self, count: int) -> np.ndarray:
        """Return `count` fair coin tosses, of dtype bool."""
        packed = np.frombuffer(self.bytes((count + 7) // 8), dtype=np.uint8)
        return np.unpackbits(packed, count=count).astype(bool)

    def integer(self, n_bits: int) -> int:
        """Return a uniform integer below 2^`n_bits`."""
        return int.from_bytes(self.bytes((n_bits + 7) // 8), "little") >> (-n_bits % 8)

    def _take(self, count: int) -> bytes:
        if count > 8 * _BLOCK_WORDS:
            return self._encryptor.update(bytes(count))
        if len(self._buffer) - self._used < count:
            self._buffer = self._encryptor.update(bytes(8 * _BLOCK_WORDS))
            self._used = 0
        self._used += count
        return self._buffer[self._used - count : self._used]

    def bytes(self, count: int) -> bytes:
        """Return `count` uniform bytes, which are never returned again.

        You may call it from any thread or process.
        """
        if self.seed is None and self._generation != _forks:
            self._rekey()
        with self._lock:
            return self._take(count)

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

        key = os.urandom(32) if self.seed is None else self.seed.to_bytes(32, "little")
        self._encryptor = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        self._generation = _forks
        self._lock = threading.Lock()
        self._buffer, self._used = b"", 0

    def __reduce__(self) -> NoReturn:
        raise TypeError("A stream of randomness cannot be copied or pickled: its noise may be used only once.")

    def __repr__(self) -> str:
        return "Entropy()" if self.seed is None else f"research_rng({self.seed})"


def system_rng() -> Entropy:
    """Return a new random stream with a system key.

    It is the default wherever a function takes `rng`.
    """
    return Entropy()


def research_rng(seed: int) -> Entropy:
    """Return a reproducible random stream, for research and tests only.

    Use it to repeat an experiment on public or simulated data. Never use it for a release, because whoever knows the
    seed can compute the noise and subtract it. Releases draw from the operating system by default.

    Parameters
    ----------
    seed : int
        An integer from 0 to 2^256 − 1. Equal seeds give equal streams.

    Returns
    -------
    Entropy
        The stream, which you pass as `rng`.

    Examples
    --------
    Two streams with the same seed return the same random integer of 8 bits:

    >>> from gaugedp import research_rng
    >>> research_rng(1).integer(8) == research_rng(1).integer(8)
    True
    """
    whole(minimum=0, seed=seed)
    if seed >= 2**256:
        raise InvalidRequest("`seed` has more than 256 bits.", "Pass an integer below 2^256.")
    return Entropy(int(seed))
