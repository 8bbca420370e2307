"""Convex losses of linear predictions, with Lipschitz and smoothness constants."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from gaugedp._internal.validate import positive, whole
from gaugedp.errors import InvalidRequest


def check_loss(loss: object) -> None:
    """Refuse an object that is not a `Loss`."""
    if not isinstance(loss, Loss):
        raise InvalidRequest(
            f"`loss` is of type {type(loss).__name__}, but must be a loss of the library.",
            "Pass one, such as Logistic().",
        )


class Loss(ABC):
    """Convex loss φ(z, y) of predictions z and targets y.

    It is the base class of the losses that the methods of this package minimise, such as `Logistic`. z and y have shape
    (n,), and φ is convex in z.

    Notes
    -----
    The loss of a row x is φ(⟨w, x⟩, y) for the weights w, and its gradient in w is φ′·x. If ‖x‖ ≤ R in a norm, the loss
    is `lipschitz`·R-Lipschitz in w for the dual norm, and `smoothness`·R²-smooth if that is finite.
    """

    is_clipped_residual: ClassVar[bool] = False  # True if φ′ = lipschitz·clip((z − y)·smoothness/lipschitz, ±1)

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """The least L with |φ′(z, y)| ≤ L everywhere."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """The least β with φ″ ≤ β; infinite for kinks."""

    @abstractmethod
    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return φ, shape (n,)."""

    @abstractmethod
    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return φ′ in z (n,), a subgradient at a kink."""

    @abstractmethod
    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return φ″ in z (0 at a kink), shape (n,)."""


@dataclass(frozen=True)
class Logistic(Loss):
    """Logistic loss of a score and a label ±1.

    For a score z and a label y it is log(1 + e^{−yz}).
    """

    lipschitz = 1.0
    smoothness = 0.25

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return log(1 + e^{−yz}) without overflow."""
        return np.logaddexp(0, -y * z)

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return −y/(1 + e^{yz})."""
        return -y * scipy.special.expit(-y * z)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return e^z/(1 + e^z)²."""
        del y
        share = scipy.special.expit(z)
        return share * (1 - share)


@dataclass(frozen=True)
class Hinge(Loss):
    """Hinge loss of a score and a label ±1.

    For a score z and a label y it is max(0, 1 − yz).
    """

    lipschitz = 1.0
    smoothness = math.inf  # a kink

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return max(0, 1 − yz)."""
        return np.maximum(0, 1 - y * z)

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return −y below the kink, else 0."""
        return np.where(y * z < 1, -y, 0.0)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return 0."""
        del y
        return np.zeros(np.shape(z))


@dataclass(frozen=True)
class Squared(Loss):
    """Squared loss of a residual, linear beyond `reach`.

    It is ½r² for a residual r = z − y with |r| ≤ `reach`, so its gradient is that of residuals clipped to ±reach. If
    |y| ≤ b and |z| ≤ b, reach = 2b changes nothing.
    """

    reach: float

    def __post_init__(self) -> None:
        positive(reach=self.reach)

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant `reach`."""
        return float(self.reach)

    smoothness = 1.0
    is_clipped_residual = True

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return ½r² or reach·|r| − ½·reach²."""
        far = np.abs(z - y)
        return np.where(far <= self.reach, far * far / 2, self.reach * far - self.reach**2 / 2)

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the clipped residual."""
        return np.clip(z - y, -self.reach, self.reach)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return 1 within reach, else 0."""
        return (np.abs(z - y) <= self.reach).astype(float)


@dataclass(frozen=True)
class Huber(Loss):
    """Huber loss of a residual, quadratic near 0, linear beyond.

    It is ½r²/`width` for a residual r with |r| ≤ width, and |r| − ½·width for a larger one.
    """

    width: float = 1.0
    is_clipped_residual = True

    def __post_init__(self) -> None:
        positive(width=self.width)

    lipschitz = 1.0

    @property
    def smoothness(self) -> float:
        """The smoothness constant 1/width."""
        return 1.0 / self.width

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss."""
        return Squared(self.width).value(z, y) / self.width

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the clipped residual over the width."""
        return Squared(self.width).derivative(z, y) / self.width

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return 1/width within the width, else 0."""
        return Squared(self.width).curvature(z, y) / self.width


@dataclass(frozen=True)
class Absolute(Loss):
    """Absolute loss |z − y| of a prediction and target."""

    lipschitz = 1.0
    smoothness = math.inf  # a kink

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return |z − y|."""
        return np.abs(z - y)

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the sign of the residual."""
        return np.sign(z - y)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return 0."""
        del y
        return np.zeros(np.shape(z))


@dataclass(frozen=True)
class Softmax:
    """Multinomial logistic loss, for several classes.

    Use it for a classifier that predicts one of K classes. The loss is log Σ_k e^{z_k} − z_y for predictions z of shape
    (n, K) and classes y of shape (n,), which are in 0 … K − 1.

    Notes
    -----
    Let p be the probabilities of the classes. The gradient of a row x in the weights (K, d) is (p − e_y)xᵀ, of
    Frobenius norm at most √2·‖x‖₂. The Hessian is (diag p − ppᵀ) ⊗ xxᵀ, with eigenvalues of at most ‖x‖²/2 and trace of
    at most (1 − 1/K)·‖x‖².
    """

    n_classes: int

    def __post_init__(self) -> None:
        whole(minimum=2, n_classes=self.n_classes)

    lipschitz = math.sqrt(2)  # of the gradient in z in ℓ₂
    smoothness = 0.5  # of the Hessian in z

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return log Σ_k e^{z_k} − z_y, shape (n,)."""
        return scipy.special.logsumexp(z, axis=1) - z[np.arange(len(y)), y]

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return p − e_y, shape (n, K)."""
        slopes = self.probabilities(z)
        slopes[np.arange(len(y)), y] -= 1
        return slopes

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        """Return the probabilities p, shape (n, K)."""
        columns = np.array(z.T, order="C")  # classes are few: along them numpy is several times slower
        columns -= columns.max(axis=0)
        np.exp(columns, out=columns)
        total = columns[0].copy()
        for column in columns[1:]:  # one by one, so that a row is summed in the same order in any table
            total += column
        columns /= total
        return columns.T
