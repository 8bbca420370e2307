"""What the answers of a term say in a sentence, and a wide table: the cells of its last attribute side by side."""

from itertools import product

import numpy as np

from gaugedp.queries.outline import CELLS, SHARES
from gaugedp.report import figures
from gaugedp.report.markup import Html, join, table, tag
from gaugedp.report.terms import Term, labels

_MOST_COLUMNS, _MOST_LINES = 6, 40


def finding(term: Term) -> str:
    """Return which cells have the largest and the smallest estimate, with their intervals, in two sentences.

    Nothing of quantiles: of these, the order is known.
    """
    if any(axis.form == SHARES for axis in term.axes):
        return ""
    texts, cells = list(figures.answers(term.estimate, term.lower, term.upper)), list(labels(term))
    ends = (("Largest", int(np.argmax(term.estimate))), ("Smallest", int(np.argmin(term.estimate))))
    said = [(word, cells[at], *texts[at]) for word, at in ends]
    return " ".join(f"{word}: {middle} for {cell}, between {low} and {high}." for word, cell, middle, low, high in said)


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
    return table(f"{term.meaning}, with {term.level} intervals{term.bars}", heads, rows, class_="numbers crossed")
