"""What the answers of a term say in a sentence, and a wide table: the cells of its last attribute side by side."""

from itertools import product

import numpy as np

from gaugedp.queries.outline import CELLS, SHARES
from gaugedp.report import figures
from gaugedp.report.markup import Html, join, table, tag
from gaugedp.report.terms import Term, labels

_MOST_COLUMNS, _MOST_LINES = 6, 40
Numbers = tuple[str, ...]  # an estimate and the ends of its interval


def finding(term: Term) -> str:
    """Return which cells have the largest and the smallest estimate, with their intervals, in a sentence or two."""
    numbers = zip(term.estimate, term.lower, term.upper, strict=True)
    texts = [tuple(f"{text}{term.sign}" for text in figures.answer(*three)) for three in numbers]
    cells = list(labels(term))
    if any(axis.form == SHARES for axis in term.axes):
        return _medians(term, texts)
    top, bottom = int(np.argmax(term.estimate)), int(np.argmin(term.estimate))
    if term.lowest[top] <= term.highest[bottom]:
        ends = " to ".join(f"{texts[at][0]} for {cells[at]}" for at in (bottom, top))
        return f"From {ends}; the noise alone may explain the differences."
    words = ("Most", "Fewest") if term.counts else ("Highest", "Lowest")
    others = (np.delete(term.highest, top).max(), np.delete(term.lowest, bottom).min())
    is_sure = (term.lowest[top] > others[0], term.highest[bottom] < others[1])
    doubts = ("; another may have more", "; another may have less")
    said = zip(words, (texts[top], texts[bottom]), (cells[top], cells[bottom]), is_sure, doubts, strict=True)
    return " ".join(
        f"{word}: {middle} for {cell}, between {low} and {high}{'' if sure else doubt}."
        for word, (middle, low, high), cell, sure, doubt in said
    )


def _medians(term: Term, texts: list[Numbers]) -> str:
    """Return the median of each group, where medians are among the quantiles of a few groups."""
    *groups, shares = term.levels or ((),)
    named = list(product(*groups))
    if term.axes[-1].form != SHARES or "0.5" not in shares or len(named) > _MOST_COLUMNS:
        return ""
    middles = texts[shares.index("0.5") :: len(shares)]
    said = [
        f"{middle}{' for ' * bool(group)}{' · '.join(group)}, between {low} and {high}"
        for group, (middle, low, high) in zip(named, middles, strict=True)
    ]
    return f"Median: {'; '.join(said)}."


def is_wide(term: Term) -> bool:
    """Whether the term is of several attributes, and few cells of the last."""
    is_of_cells = len(term.axes) > 1 and all(axis.form == CELLS for axis in term.axes)
    few = len(term.cells) <= _MOST_LINES * len(term.levels[-1]) if term.levels else False
    return is_of_cells and few and 1 < len(term.levels[-1]) <= _MOST_COLUMNS


def wide_table(term: Term) -> Html:
    """Return the estimates with their intervals, a line for each combination of all attributes but the last."""
    if not is_wide(term):
        return Html("")
    *along, across = term.levels
    heads = [f"{' · '.join(term.names[:-1])}, by {term.names[-1]}", *across]
    cells = [
        join([middle, tag("small", f"{low} to {high}")])
        for middle, low, high in figures.answers(term.estimate, term.lower, term.upper)
    ]
    n = len(across)
    lines = [" · ".join(levels) for levels in product(*along)]
    rows = [[line, *cells[place * n : (place + 1) * n]] for place, line in enumerate(lines)]
    caption = f"Estimates with {term.level} intervals{term.bars}"
    return table(caption, heads, rows, class_="numbers crossed", about=term.meaning)
