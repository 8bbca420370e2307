"""Exact and approximate samplers, independent of privacy and data."""

from gaugedp.samplers.hit_and_run import hit_and_run
from gaugedp.samplers.near_walks import ball_walk, grid_walk
from gaugedp.samplers.uniform import UniformMoments, moments, uniform

__all__ = ["UniformMoments", "ball_walk", "grid_walk", "hit_and_run", "moments", "uniform"]
