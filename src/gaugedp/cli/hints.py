"""Hints about a release, from what was released alone: arithmetic on published numbers, which costs nothing."""

from collections.abc import Iterator

import numpy as np

from gaugedp.answer import Release, unfold
from gaugedp.queries.estimates import split

_SLACK = 1e-9  # of a range: what rounding may take from an interval that is the whole of it


def hints(answer: Release) -> Iterator[str]:
    """Yield a sentence for each term that says nothing: means of any value, counts that may all be 0.

    By intervals that hold all at once: of many cells whose counts are 0, some have single intervals without it.
    """
    ends = np.cumsum([one.n_answers for one in answer.estimates])
    low, high = (np.split(side, ends[:-1]) for side in answer.interval(0.95, simultaneous=True))
    terms = [answer.labels[end - 1][0] for end in ends.tolist()]
    for term, one, lower, upper, are_counts in zip(terms, answer.estimates, low, high, _counts(answer), strict=True):
        if one.ratio is not None:
            yield from _about_means(term, one.ratio, upper - lower)
        elif are_counts and ((lower <= 0) & (upper >= 0)).all():
            yield (
                f"All counts of {term} may be 0. Compare the categories of the domain file with the codebook; "
                "upper and lower case differ."
            )


def _about_means(term: str, ratio: tuple[float, float], lengths: np.ndarray) -> Iterator[str]:
    whole = int(np.sum(lengths >= 2 * ratio[1] * (1 - _SLACK)))
    if whole == len(lengths):
        yield (
            f"The interval of {term} is the whole range: this answer says nothing. "
            "Too few rows for this epsilon, or values that are not numbers with a decimal point."
        )
    elif whole:
        yield f"The interval of {term} is the whole range in {whole} of {len(lengths)} cells: they say nothing."


def _counts(answer: Release) -> Iterator[bool]:
    """Yield for each term whether its answers are counts of rows; a release of before this was noted has none."""
    known = unfold(answer.facts["counts"]) if "counts" in answer.facts else np.zeros(len(answer.numbers))
    return (bool(part.all()) for part in split(answer.estimates, known))
