"""Mechanisms: calibrated randomness without access to tables or ledgers."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.validate import whole
from gaugedp.bodies.base import Body, check_body
from gaugedp.bodies.polytope import Polytope
from gaugedp.entropy import Entropy, fork_count, research_rng, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.printed import rounded_up
from gaugedp.mechanisms.noise_laws import NoiseLaw, Unchecked
from gaugedp.mechanisms.tuning import TUNED

ApplyNoise = Callable[[np.ndarray], np.ndarray]  # from the exact answer to the release


class Calibrated(ABC):
    """Random procedure that satisfies a chosen privacy guarantee.

    This is the base class of all mechanisms: those that add noise to answers, select candidates or collect responses.

    Attributes
    ----------
    guarantee : Guarantee
        The guarantee that one output satisfies.
    exactness : str
        How exactly the random draws follow the proved distribution. "exact" draws use integer arithmetic, or floating
        point within proved bounds. "idealized" draws use ordinary floating point. "mixing" draws come from a Markov
        chain.
    form : str
        The family of the output distribution, from which an audit selects its tests. It may be empty.
    """

    name: ClassVar[str]
    if TYPE_CHECKING:  # read-only: a field or a constant of some classes, computed by others

        @property
        def exactness(self) -> str:
            """Exactness of the noise: "exact", "idealized" or "mixing"."""

        @property
        def form(self) -> str:
            """The family of the output's distribution."""

        @property
        def guarantee(self) -> Guarantee:
            """The guarantee of one output."""
    else:
        form = ""

    @abstractmethod
    def describe(self) -> str:
        """Return a description of the distribution and its scale."""

    def recalibrated(self, guarantee: Guarantee) -> "Calibrated":
        """Return the mechanism calibrated for another guarantee.

        Body and options stay the same. The guarantee of the new mechanism implies `guarantee`; only a random walk needs
        an allowance under `PureDP`. A guarantee that the mechanism does not support is refused.
        """
        if guarantee == self.guarantee:
            return self
        raise InvalidRequest(
            f"{self.name} cannot be calibrated for {guarantee!r}, because its class does not define how.",
            "Implement its method recalibrated(guarantee).",
        )

    def __repr__(self) -> str:
        return f"{self.name}({self.describe()}, {rounded_up(self.guarantee)}, {self.exactness})"


class Mechanism(Calibrated):
    """Random procedure that turns exact answers into private ones.

    The exact answer is a vector of integers, such as the counts of a table. A plan chooses a mechanism for you
    (`plan.mechanism`), or you calibrate one yourself, for example with `gd.Laplace.calibrate`. The `guarantee` holds if
    one unit, such as a person, changes the exact answer by a point of `body`, which is called the sensitivity body.

    Errors and widths are in the units of the answers. Mechanisms for quantiles are an exception (`in_rows` is True):
    their errors are distances in rank, counted in rows.

    Examples
    --------
    With probability 0.95, each of two noisy counts is at most 3 away from the exact count:

    >>> import gaugedp as gd
    >>> body = gd.query(gd.Domain.of(sex=["1", "2"]), "sex").sensitivity(gd.PrivacyUnit())
    >>> gd.Laplace.calibrate(body, gd.PureDP(1)).half_widths(0.95).tolist()
    [3.0, 3.0]
    """

    in_rows: ClassVar[bool] = False
    plan_order: ClassVar[int] = 9  # position in the table of a plan, in increasing order
    if TYPE_CHECKING:

        @property
        def body(self) -> Body:
            """The sensitivity body that the guarantee is for."""

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Mechanism]":  # noqa: ARG003
        """Yield the mechanisms of this class that a plan compares.

        Each of them implies `guarantee` and is chosen for small errors relative to `weights`, shape (d,), by default 1.
        """
        yield from ()

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return the reason why `candidates` yields nothing, or ""."""
        return ""

    @property
    def parts(self) -> "tuple[Mechanism, ...]":
        """The mechanisms of the answer's parts; itself if single."""
        return (self,)

    @property
    def n_answers(self) -> int:
        """The number of answers, each of which has a width."""
        return self.body.ambient_dim

    @abstractmethod
    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the expected ℓ₁ or ℓ₂ norm of error/weights."""

    def least_error(self, weights: np.ndarray | None = None) -> float:  # noqa: ARG002
        """Return a proved lower bound on `error(2, weights)`, or 0."""
        return 0.0

    def mean_square(self, weights: np.ndarray | None = None) -> float:  # noqa: ARG002
        """Return an upper bound on the expected ‖error/weights‖₂²."""
        raise InvalidRequest(f"The mean squared error of {self.name} is not known.", "Release this query separately.")

    @property
    def variances(self) -> np.ndarray:
        """The variance of each answer's added noise, shape (n_answers,)."""
        return np.zeros(self.n_answers)

    @abstractmethod
    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return half-widths of confidence intervals at `level`.

        Each interval contains its exact answer with at least that probability or, if `simultaneous`, all intervals
        together do.
        """

    def ordinary_widths(self) -> np.ndarray:
        """Return the half-widths of 95 % intervals on ordinary tables.

        They differ from `half_widths` only for ranks, where `half_widths` is for the worst table.
        """
        return self.half_widths(0.95)

    def noise_law(self) -> NoiseLaw:
        """Return the noise distribution in lattice steps, checked before charging."""
        return Unchecked(f"{self.name}: it states no noise distribution")

    @abstractmethod
    def is_valid_for(self, body: Body) -> bool:
        """Return True if the guarantee holds for this sensitivity body."""

    def prepare(self, rng: Entropy | None = None, progress: Progress = silent) -> "Prepared":
        """Draw the randomness for one answer.

        `progress` receives the completed share.
        """
        return self.pool(1, rng, progress)[0]

    def pool(self, size: int, rng: Entropy | None = None, progress: Progress = silent) -> "list[Prepared]":
        """Draw the randomness for `size` answers in advance.

        Each of the results can be used only once, for one answer.
        """
        whole(minimum=1, size=size)
        stream = _generator(rng)
        return [Prepared(apply_noise, self, stream.seed) for apply_noise in self._finishers(size, stream, progress)]

    @abstractmethod
    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> "Iterable[ApplyNoise]":
        """Return `size` functions of the answer that hold their randomness."""


class AdditiveNoise(Mechanism, ABC):
    """Mechanism that releases the exact answer plus random noise.

    It satisfies `guarantee` if the answers of neighbouring tables differ by a point of `body`, the sensitivity body.
    """

    @property
    @abstractmethod
    def lattice_step(self) -> Fraction:
        """The spacing of the lattice, in the body's units."""

    @abstractmethod
    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return noise draws in lattice steps, int64, shape (size, d)."""

    @property
    @abstractmethod
    def variances(self) -> np.ndarray:
        """The variance of each coordinate of the noise, shape (d,)."""

    def mean_square(self, weights: np.ndarray | None = None) -> float:
        """Return the sum of variance/weight² over all answers."""
        return float((self.variances / (1.0 if weights is None else np.square(weights))).sum())

    def sample_noise(self, size: int, rng: Entropy | None = None) -> np.ndarray:
        """Return draws of the noise, shape (size, d).

        Draws of a Markov chain ("mixing") are correlated: their effective sample size is below `size`.
        """
        whole(minimum=1, size=size)
        return self.checked(self.draw(size, _generator(rng)), size) * float(self.lattice_step)

    def trial_noise(self, size: int, seed: int) -> np.ndarray:
        """Return `size` draws that describe the noise, shape (size, d).

        Use them to estimate errors and widths. They can be reproduced from the seed, so they are never released.
        Mechanisms may draw them with numpy's generator.
        """
        return self.sample_noise(size, research_rng(seed))

    @property
    def most_trials(self) -> int:
        """The number of trial draws after which they repeat."""
        return sys.maxsize

    def trials_of(self, places: np.ndarray, size: int, seed: int) -> np.ndarray:
        """Return trial draws of some answers, shape (size, len(places))."""
        return self.trial_noise(size, seed)[:, places]

    def releasable(self, size: int, rng: Entropy, progress: Progress = silent) -> np.ndarray:  # noqa: ARG002
        """Return `size` independent draws for release, in lattice steps."""
        return self.draw(size, rng)

    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> "Iterable[ApplyNoise]":
        noises = self.checked(self.releasable(size, rng, progress), size)
        return [partial(np.add, noise) for noise in noises]

    def checked(self, steps: np.ndarray, size: int) -> np.ndarray:
        """Refuse draws of wrong shape or type, which could leak."""
        shape, draw_shape = np.shape(steps), (size, self.body.ambient_dim)
        kind = steps.dtype if isinstance(steps, np.ndarray) else None
        if shape != draw_shape or kind != np.int64:
            raise InvalidRequest(
                f"The method draw() of {self.name} returned noise of shape {shape} and type {kind} instead of "
                f"shape {draw_shape} and type int64.",
                "Correct this method.",
            )
        return steps


def _generator(rng: Entropy | None) -> Entropy:
    if rng is None:
        return system_rng()
    if not isinstance(rng, Entropy):
        raise InvalidRequest(
            f"`rng` is of type {type(rng).__name__}, but must be a source of randomness of gaugedp.",
            "Omit `rng`, or pass gd.research_rng(seed) for noise that protects nobody.",
        )
    return rng


class Prepared:
    """Randomness for one answer, which can be used only once.

    `Mechanism.prepare` and `pool` return it. A second use is refused, because two answers with the same noise would
    reveal their difference. `apply_noise` turns the exact answer (integers) into the released one. `mechanism` drew the
    randomness, and `seed` is that of a research stream.
    """

    def __init__(self, apply_noise: ApplyNoise, mechanism: Mechanism, seed: int | None) -> None:
        self.mechanism, self.seed = mechanism, seed
        self._forks = fork_count()
        self._apply_noise = [apply_noise]

    def __call__(self, answer: np.ndarray) -> np.ndarray:
        """Return the release for `answer` (d,) and discard the noise."""
        shape = (self.mechanism.body.ambient_dim,)
        if np.shape(answer) != shape:
            raise InvalidRequest(
                f"The answer has shape {np.shape(answer)}, but the noise was prepared for shape {shape}.",
                "Pass one number for each answer of the query.",
            )
        if self._forks != fork_count():
            raise InvalidRequest(
                "This noise was prepared before the process forked, so both processes could use it.",
                "Prepare new noise in this process.",
            )
        try:
            apply_noise = self._apply_noise.pop()  # atomic, so that no second thread can take it too
        except IndexError:
            raise InvalidRequest(
                "This noise has already been used, and using it again would reveal the difference of two answers.",
                "Prepare new noise for another answer.",
            ) from None
        return apply_noise(answer)

    @property
    def is_used(self) -> bool:
        """True if the noise was used, or the process forked."""
        return not self._apply_noise or self._forks != fork_count()

    def __reduce__(self) -> NoReturn:
        raise TypeError("Prepared noise cannot be copied or pickled: it may be used only once.")

    def __repr__(self) -> str:
        return f"Prepared({'used' if self.is_used else 'unused'})"


def lattice_radius(body: Body, p: float, weights: np.ndarray | None) -> tuple[Fraction, Fraction]:
    """Return (step, radius in steps) of body/weights in ℓ_p.

    The radius includes what rounding to the lattice adds. Bodies of integer answers have step 1 and no rounding.
    Otherwise the step is a power of two below radius/(d·2^12), or radius/(√d·2^12) for p = 2, and rounding the answers
    of two neighbours adds at most one step per coordinate.
    """
    check_body(body)
    radius = body.radius(p, weights)
    if not radius > 0:
        raise InvalidRequest("No unit can change these answers.", "Use a query that depends on the rows.")
    if is_integer(body):
        exact = weights is None and (p == 1 or math.isinf(p)) and radius < 2**53 and radius.is_integer()
        return Fraction(1), Fraction(radius) if exact else _up(radius, body.ambient_dim)
    coarse = body.ambient_dim ** (0.5 if p == 2 else 1.0)
    step = Fraction(2) ** math.floor(math.log2(radius / (coarse * TUNED.fine_steps)))
    rounding = _cube_radius(body.ambient_dim, p, weights)
    return step, _up(radius, body.ambient_dim) / step + _up(rounding, body.ambient_dim)


def is_integer(body: Body) -> bool:
    """Return whether the body belongs to integer answers."""
    return isinstance(body, Polytope) and body.generators.whole_numbers and float(body.factor).is_integer()


def _cube_radius(d: int, p: float, weights: np.ndarray | None) -> float:
    """Return the maximum of ‖z/weights‖_p over [−1, 1]^d."""
    inverse = np.ones(d) if weights is None else 1 / np.asarray(weights, dtype=float)
    return float(np.linalg.norm(inverse, p))


def _up(value: float, n_terms: int) -> Fraction:
    return Fraction(value) * (1 + Fraction(1, 2**40) + Fraction(n_terms, 2**51))
