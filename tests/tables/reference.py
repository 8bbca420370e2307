"""The reference: totals of a list of Python rows, one row and one value at a time."""

import hashlib
import math
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np

from gaugedp.domain.attributes import Categories, EdgeBins, Integers
from gaugedp.domain.hierarchies import Level
from gaugedp.tables.aggregate import finer

PRIME = 2**30 - 35
PERSON = object()  # beside the names of attributes and columns


def number(value):
    """The float a value stands for, None where it is no number."""
    try:
        text = str(value).strip(" \t\n\r\f")
        value = float(text) if text.isascii() and text.isprintable() and "_" not in text else None
    except ValueError:
        return None
    return None if value is None or math.isnan(value) else value


def inside_code(attribute, value):
    if isinstance(attribute, Level):
        finest = inside_code(Categories(attribute.finest), value)
        return None if finest is None else sum(start <= finest for start in attribute.starts) - 1
    if isinstance(attribute, Categories):
        texts = {text: code for code, text in enumerate(attribute.values)}
        if isinstance(value, str) or value is None:
            return texts.get(value)
        same = [code for text, code in texts.items() if number(text) is not None and _same(text, value)]
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


def _same(text, value):
    return Fraction(text) == value if isinstance(value, int) and "n" not in text.lower() else number(text) == value


def measure(column, value):
    x = number(value)
    x = None if x is not None and x in [float(code) for code in column.unknown] else x
    if x is None and column.missing is None:
        return None
    x = float(column.missing) if x is None else min(max(x, float(column.low)), float(column.high))
    scaled = Decimal(x * column.step.denominator / column.step.numerator)
    return 2 * int(scaled.to_integral_value("ROUND_HALF_UP")) - column.low_steps - column.high_steps


def coded(domain, totals, rows, person=None):
    """The rows that are not left out, as dictionaries of codes and measures."""
    for row in rows:
        codes = {}
        for name in {name for total in totals for name in total.attributes}:
            fact = domain.attributes[name]
            code = inside_code(fact, row[domain.source(name)])
            codes[name] = fact.n_inside if code is None and fact.outside == "other" else code
        if None not in codes.values():
            columns = set(used_columns(domain, totals))
            yield (
                codes | {name: measure(domain.columns[name], row[name]) for name in columns} | {PERSON: row.get(person)}
            )


def used_columns(domain, totals):
    """The bounded columns in use, the weight last."""
    weights = [domain.weights for total in totals if total.weighted]
    return [name for name in dict.fromkeys([*(total.column for total in totals), *weights]) if name is not None]


def weight_of(domain, codes):
    """The steps of a row's weight, 0 where it has none."""
    column, centred = domain.columns[domain.weights], codes[domain.weights]
    return 0 if centred is None else (centred + column.low_steps + column.high_steps) // 2


def addend(total, codes, domain):
    """What a row adds to its cell, times its weight."""
    if not total.weighted:
        return plain_addend(total, codes, domain, 24)
    heavy = domain.columns[domain.weights].high_steps
    most = heavy**total.weighted
    digits = 24 if most == 1 else max(4, (44 - most.bit_length()) // 2)
    weight = weight_of(domain, codes) ** total.weighted
    if total.weighted == 2 and total.column and not total.present and not total.squared:
        total = replace(total, coarse=True)
    return weight * plain_addend(total, codes, domain, digits)


def plain_addend(total, codes, domain, digits):
    """1, or its measure or square, or whether it has one; nothing where it has none."""
    if total.column is None:
        return 1
    if total.present:
        return int(codes[total.column] is not None)
    if total.coarse and codes[total.column] is not None:
        return coarse(domain.columns[total.column], codes[total.column], digits)[0]
    if total.squared and codes[total.column] is not None:
        return square(domain.columns[total.column], codes[total.column], digits)
    return codes[total.column] or 0


def square(column, centred, digits=24):
    """Twice the square of a coarse centred value, less the largest."""
    value, largest = coarse(column, centred, digits)
    return 2 * value**2 - largest**2


def coarse(column, centred, digits):
    """A centred value and the largest, after k is rounded to so many binary digits."""
    span = column.high_steps - column.low_steps
    unit = 1
    while span // unit >= 2**digits:
        unit *= 2
    k, c = ((number + unit // 2) // unit for number in ((centred + span) // 2, span))
    return 2 * k - c, c


def values_of(domain, total, kept):
    """The number of rows at each value low … high, one row at a time."""
    column = domain.columns[total.column]
    spans = range(-(column.high_steps - column.low_steps), column.high_steps - column.low_steps + 1, 2)
    cells = dict.fromkeys(product(*map(range, domain.shape(total.attributes)), spans), 0)
    for codes in kept:
        if codes[total.column] is not None:
            times = weight_of(domain, codes) if total.weighted else 1
            cells[*(codes[name] for name in total.attributes), codes[total.column]] += times
    return np.array(list(cells.values()), dtype=object if total.weighted else np.int64)


def reference_totals(domain, totals, rows, unit=None, key=b""):
    kept = kept_rows(domain, totals, rows, unit, key)
    answers = []
    for total in totals:
        if total.each:
            answers.append(values_of(domain, total, kept))
            continue
        cells = dict.fromkeys(product(*map(range, domain.shape(total.attributes))), 0)
        for codes in kept:
            cells[tuple(codes[name] for name in total.attributes)] += addend(total, codes, domain)
        is_sum = total.weighted or (total.column is not None and not total.present)
        answers.append(np.array(list(cells.values()), dtype=object if is_sum else np.int64))
    return answers


def kept_rows(domain, totals, rows, unit=None, key=b""):
    """The rows that are not left out, at most max_rows of a person: those that the keyed hash puts first."""
    if unit is None or unit.column is None:
        return list(coded(domain, totals, rows))
    read = [finer(total, totals, domain) for total in totals]  # a person's rows are in the order of the finest areas
    attributes = dict.fromkeys(name for total in read for name in total.attributes)
    columns = used_columns(domain, totals)
    people = defaultdict(list)
    for codes in coded(domain, [*totals, *read], rows, unit.column):
        who = codes[PERSON]
        if who is not None and not (isinstance(who, float) and math.isnan(who)):
            missing = -math.inf  # before every number
            contents = [codes[name] for name in attributes]
            contents += [missing if codes[name] is None else codes[name] for name in columns]
            people[who].append((contents, codes))
    kept = []
    for who, own in people.items():
        own.sort(key=lambda pair: pair[0])
        places = sorted(range(len(own)), key=lambda i: (person_hash(who, i + 1, key), i))
        kept += [own[i][1] for i in places[: unit.max_rows]]
    return kept


def person_number(who):
    """A whole number of 64 bits for a person."""
    if isinstance(who, str):
        return int(hashlib.md5(who.encode()).hexdigest()[:15], 16)
    return math.floor(who) if -(2**63) <= who < 2**63 else 0


def person_hash(who, position, key):
    """A line in the person and the position, then two cubes, modulo a prime."""
    digests = [hashlib.sha256(key + bytes([i])).digest() for i in range(5)]
    slopes = [1 + int.from_bytes(digest[:16], "big") % (PRIME - 1) for digest in digests]
    low = _remainder(person_number(who))
    high = _remainder(_quotient(person_number(who)))
    value = ((low + PRIME) * slopes[0] + (high + PRIME) * slopes[1] + position * slopes[2]) % PRIME
    for shift in slopes[3:]:
        value = (value + shift) ** 3 % PRIME
    return value


def _quotient(value):
    """Division that cuts towards 0, as SQL divides."""
    return abs(value) // PRIME * (1 if value >= 0 else -1)


def _remainder(value):
    return value - _quotient(value) * PRIME


def listed_rows(domain, attributes, columns, rows):
    """Cells and steps of each row, −1 where there are none, sorted; `rows` are kept ones."""
    spans = {name: domain.columns[name].high_steps - domain.columns[name].low_steps for name in columns}
    steps = ([-1 if row[name] is None else (row[name] + spans[name]) // 2 for name in columns] for row in rows)
    lines = [[*(row[name] for name in attributes), *actual] for row, actual in zip(rows, steps, strict=True)]
    return np.array(sorted(lines), dtype=np.int64).reshape(len(lines), -1)


def scaled(domain, columns, rows, bits):
    """The columns of kept rows as whole numbers within ±2^bits, Python integers, 0 where missing."""
    spans = {name: domain.columns[name].high_steps - domain.columns[name].low_steps for name in columns}
    return [
        [0 if row[name] is None else math.floor(row[name] / spans[name] * 2**bits + 0.5) for name in columns]
        for row in rows
    ]


def reference_moments(domain, columns, rows, bits):
    """Σ 1, Σ x and Σ x xᵀ, in Python integers."""
    numbers = scaled(domain, columns, rows, bits)
    first = [sum(line[j] for line in numbers) for j in range(len(columns))]
    return (
        len(rows),
        first,
        [[sum(line[i] * line[j] for line in numbers) for j in range(len(columns))] for i in range(len(columns))],
    )
