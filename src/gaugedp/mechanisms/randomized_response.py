"""Randomized response: each person reports the truth with known probability."""

from bisect import bisect
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import scipy

from gaugedp._internal.validate import between, whole
from gaugedp.bodies import Body, LpBall
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import STAYS_SPENT, InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP, RandomizedResponseLoss
from gaugedp.mechanisms.base import Calibrated
from gaugedp.mechanisms.selection import pure_epsilon
from gaugedp.samplers.choice import choose


@dataclass(frozen=True, eq=False, repr=False)
class RandomizedResponse(Calibrated):
    """Random responses that hide each person's true category.

    Use it if nobody may know the true answers, not even the one who collects the data. With k categories, a person
    reports the true one with probability e^ε/(e^ε + k − 1), and otherwise one of the others at random. From the
    responses, `estimate` and `interval` compute how many people have each category.

    Notes
    -----
    Theorem. A person's response is ε-DP with respect to the person's category (Warner 1965 for k = 2; Kairouz, Oh and
    Viswanath 2015). A table of responses, one per row, is ε-DP if neighbouring tables differ by the replacement of one
    row. The proof is in docs/theory/randomized_response.md.

    Examples
    --------
    With three categories and ε = 1, a person reports the true category with probability 0.576:

    >>> import gaugedp as gd
    >>> gd.RandomizedResponse.calibrate(3, gd.PureDP(1))
    RandomizedResponse(3 categories, truth 0.576117, RandomizedResponseLoss(1), exact)
    """

    body: Body
    guarantee: Guarantee
    epsilon: Fraction
    n_categories: int

    name: ClassVar[str] = "RandomizedResponse"
    exactness: ClassVar[str] = "exact"
    form: ClassVar[str] = "choice"

    @classmethod
    def calibrate(cls, body: Body | int, guarantee: Guarantee) -> "RandomizedResponse":
        """Return the mechanism for PureDP(ε).

        Instead of a `body`, you can give the number k of categories.
        """
        epsilon = _epsilon(guarantee)
        if not isinstance(body, Body):
            whole(minimum=2, n_categories=body)
        cube = body if isinstance(body, Body) else LpBall(body, np.inf)
        return cls(cube, RandomizedResponseLoss(float(epsilon)), epsilon, max(2, cube.ambient_dim))

    def recalibrated(self, guarantee: Guarantee) -> "RandomizedResponse":
        """Return the mechanism for the same categories."""
        return RandomizedResponse.calibrate(self.body, guarantee)

    @property
    def truth(self) -> float:
        """The probability of the true category."""
        return float(1 / (1 + (self.n_categories - 1) * np.exp(-float(self.epsilon))))

    @property
    def other(self) -> float:
        """The probability of each other category."""
        return (1 - self.truth) / (self.n_categories - 1)

    def probabilities(self, answer: int) -> np.ndarray:
        """Return the response distribution of a category `answer`, shape (k,)."""
        shares = np.full(self.n_categories, self.other)
        shares[self._checked(np.asarray(answer))] = self.truth
        return shares

    def draw(self, answer: int, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` responses of one person; each costs the guarantee."""
        whole(minimum=1, size=size)
        return self.respond(np.full(size, int(answer)), rng)

    def sample(self, answer: int, rng: Entropy | None = None) -> int:
        """Return one response."""
        return int(self.draw(answer, 1, system_rng() if rng is None else rng)[0])

    def respond(self, categories: np.ndarray, rng: Entropy | None = None) -> np.ndarray:
        """Return a random response for each row.

        `categories`, shape (n,), are integers 0 … k − 1.
        """
        indices = self._checked(np.asarray(categories))
        gaps, counts = np.array([0, 1]), np.array([1, self.n_categories - 1])
        stream = system_rng() if rng is None else rng
        lies = choose(gaps, self.epsilon, indices.size, stream, counts).astype(bool)
        shifts = 1 + choose(np.zeros(self.n_categories - 1, dtype=np.int64), Fraction(1), indices.size, stream)
        return np.where(
            lies.reshape(indices.shape), (indices + shifts.reshape(indices.shape)) % self.n_categories, indices
        )

    def estimate(self, responses: np.ndarray) -> np.ndarray:
        """Return unbiased estimates of the category counts.

        They are (count − n·q)/(p − q), where n is the number of responses, p the probability of the true category and q
        the probability of each other one.
        """
        counts = self._counts(responses)
        return (counts - counts.sum() * self.other) / (self.truth - self.other)

    def interval(self, responses: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return confidence intervals for the numbers of true categories.

        Use it to see how precisely the responses determine how many people truly have each category.

        Parameters
        ----------
        responses : array of int, shape (n,)
            One response per person, from 0 to k − 1 for k categories.
        level : float
            The probability with which each interval contains the true number. Default 0.95.

        Returns
        -------
        (lower, upper) : arrays of int, shape (k,)
            The ends of the interval for each category.

        Notes
        -----
        The probability is over the randomness of the responses, for a fixed table. It holds for each interval by itself
        (docs/theory/randomized_response.md, theorem 2).

        Examples
        --------
        600 of 1,000 people reported category 0, but between 657 and 777 truly have it:

        >>> import gaugedp as gd
        >>> import numpy as np
        >>> low, high = gd.RandomizedResponse.calibrate(2, gd.PureDP(1)).interval(np.repeat([0, 1], [600, 400]))
        >>> (low.tolist(), high.tolist())
        ([657, 223], [777, 343])
        """
        between(0, 1, level=level)
        counts = self._counts(responses)
        n, miss = int(counts.sum()), (1 - level) / 2
        ends = [(self._least(int(count), n, miss), self._largest(int(count), n, miss)) for count in counts]
        low, high = np.array(ends).T
        return low, high

    def describe(self) -> str:
        """Return the number of categories and the truth's probability."""
        return f"{self.n_categories} categories, truth {self.truth:.6g}"

    def _checked(self, categories: np.ndarray) -> np.ndarray:
        if not np.issubdtype(categories.dtype, np.integer) and categories.dtype != bool:
            raise InvalidRequest(
                "The responses must be integers, but at least one is not.", "Number the categories from 0.", STAYS_SPENT
            )
        responses = categories.astype(np.int64)
        if responses.size and (responses.min() < 0 or responses.max() >= self.n_categories):
            raise InvalidRequest(
                f"The responses must be integers from 0 to {self.n_categories - 1}, but at least one is not.",
                "Pass the number of the category that each person gave.",
                STAYS_SPENT,
            )
        return responses

    def _counts(self, responses: np.ndarray) -> np.ndarray:
        indices = self._checked(np.asarray(responses))
        if not indices.size:
            raise InvalidRequest("There are no responses.", "Pass one response per row.")
        return np.bincount(indices.ravel(), minlength=self.n_categories)

    def _least(self, count: int, n: int, miss: float) -> int:
        """Return the least m with P(count or more | m) > miss."""
        return bisect(range(n), False, key=lambda m: 1 - self._below(count - 1, m, n) > miss)

    def _largest(self, count: int, n: int, miss: float) -> int:
        """Return the largest m with P(count or fewer | m) > miss."""
        return n - bisect(range(n), False, key=lambda m: self._below(count, n - m, n) > miss)

    def _below(self, count: int, m: int, n: int) -> float:
        """Return P(Binomial(m, p) + Binomial(n − m, q) ≤ count)."""
        first, law = _binomial(m, self.truth)
        others = scipy.special.bdtr(np.minimum(count - first, n - m).astype(float), n - m, self.other)
        return float(law @ np.where(count >= first, others, 0.0))


def _epsilon(guarantee: Guarantee) -> Fraction:
    if isinstance(guarantee, RandomizedResponseLoss):
        return pure_epsilon("Randomized response", PureDP(guarantee.epsilon_value))
    return pure_epsilon("Randomized response", guarantee)


def _binomial(n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    # a binomial has no weight beyond in floating point
    middle, spread = n * share, 12 * (n * share * (1 - share)) ** 0.5 + 12
    values = np.arange(max(0, int(middle - spread)), min(n, int(middle + spread) + 1) + 1)
    logs = scipy.special.xlogy(values, share) + scipy.special.xlog1py(n - values, -share)
    logs -= scipy.special.betaln(values + 1.0, n - values + 1.0) + np.log(n + 1)
    return values, np.exp(logs)
