"""Strategies F = L·R: R·x is measured, and L maps it to the answers."""

from gaugedp.mechanisms.strategies.base import Strategy
from gaugedp.mechanisms.strategies.best import best_strategy

__all__ = ["Strategy", "best_strategy"]
