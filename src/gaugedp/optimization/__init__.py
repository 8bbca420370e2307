"""Private convex optimisation: losses, geometries, and mechanisms that minimise."""

from gaugedp.optimization.losses import Absolute, Hinge, Huber, Logistic, Loss, Softmax, Squared

__all__ = ["Absolute", "Hinge", "Huber", "Logistic", "Loss", "Softmax", "Squared"]
