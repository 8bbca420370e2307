"""How long work tells how far it is: a function of the share that is done."""

from collections.abc import Callable

Progress = Callable[[float], object]


def silent(share: float) -> None:
    """Show nothing."""


def part_of(progress: Progress, start: float, stop: float) -> Progress:
    """Return what is told the share done of a part that goes from `start` to `stop`."""
    return lambda share: progress(start + share * (stop - start))
