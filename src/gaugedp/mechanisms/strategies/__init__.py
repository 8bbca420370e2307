"""Ways F = L·R to answer a linear question: what is made private is R·x, what is released follows by L."""

from gaugedp.mechanisms.strategies.base import Strategy
from gaugedp.mechanisms.strategies.best import best_strategy

__all__ = ["Strategy", "best_strategy"]
