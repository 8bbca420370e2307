"""The reference: totals of a list of Python rows, one row and one value at a time."""

import math
from decimal import Decimal
from itertools import product

import numpy as np

from gaugedp.attributes import Categories, EdgeBins, Integers


def number(value):
    """The float a value stands for, None where it is no number."""
    try:
        value = None if value is None else float(str(value).strip().replace("_", "no"))
    except ValueError:
        return None
    return None if value is None or math.isnan(value) else value


def inside_code(attribute, value):
    if isinstance(attribute, Categories):
        texts = {text: code for code, text in enumerate(attribute.values)}
        if isinstance(value, str) or value is None:
            return texts.get(value)
        same = [code for text, code in texts.items() if number(text) is not None and number(text) == value]
        return same[0] if same else None
    x = number(value)
    if x is None or math.isinf(x):
        return None
    if isinstance(attribute, Integers):
        return int(x) - attribute.first if x == int(x) and attribute.first <= x <= attribute.last else None
    uniform = (
        None
        if isinstance(attribute, EdgeBins)
        else [attribute.low + attribute.width * i for i in range(attribute.n_inside + 1)]
    )
    edges = [float(edge) for edge in (uniform or attribute.edges)]
    return min(sum(x >= edge for edge in edges) - 1, len(edges) - 2) if edges[0] <= x <= edges[-1] else None


def measure(column, value):
    x = number(value)
    if x is None and column.missing is None:
        return None
    x = float(column.missing) if x is None else min(max(x, float(column.low)), float(column.high))
    scaled = Decimal(x * column.step.denominator / column.step.numerator)
    return 2 * int(scaled.to_integral_value("ROUND_HALF_UP")) - column.low_steps - column.high_steps


def coded(domain, totals, rows):
    """The rows that are not left out, as dictionaries of codes and measures."""
    for row in rows:
        codes = {}
        for name in {name for total in totals for name in total.attributes}:
            fact = domain.attributes[name]
            code = inside_code(fact, row[name])
            codes[name] = fact.n_inside if code is None and fact.outside == "other" else code
        if None not in codes.values():
            columns = {total.column for total in totals} - {None}
            yield codes | {name: measure(domain.columns[name], row[name]) for name in columns}


def addend(total, codes):
    """What a row adds to its cell: 1, or its measure, or whether it has one; nothing where it has none."""
    if total.column is None:
        return 1
    if total.present:
        return int(codes[total.column] is not None)
    return codes[total.column] or 0


def values_of(domain, total, kept):
    """The number of rows at each value low … high, one row at a time."""
    column = domain.columns[total.column]
    spans = range(-(column.high_steps - column.low_steps), column.high_steps - column.low_steps + 1, 2)
    cells = dict.fromkeys(product(*map(range, domain.shape(total.attributes)), spans), 0)
    for codes in kept:
        if codes[total.column] is not None:
            cells[*(codes[name] for name in total.attributes), codes[total.column]] += 1
    return np.array(list(cells.values()), dtype=np.int64)


def reference_totals(domain, totals, rows):
    kept = list(coded(domain, totals, rows))
    answers = []
    for total in totals:
        if total.each:
            answers.append(values_of(domain, total, kept))
            continue
        cells = dict.fromkeys(product(*map(range, domain.shape(total.attributes))), 0)
        for codes in kept:
            cells[tuple(codes[name] for name in total.attributes)] += addend(total, codes)
        is_sum = total.column is not None and not total.present
        answers.append(np.array(list(cells.values()), dtype=object if is_sum else np.int64))
    return answers
