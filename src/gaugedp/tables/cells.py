"""Cells of values and steps of numbers, in safe SQL.

Nothing fails, whatever the value is. Every rule is a pair: `inside`, true for the values that have a cell, and `code`,
the cell of such a value. A code that could overflow for some other value is only evaluated under CASE WHEN inside.
Comparisons put NaN above every number.

Numbers are 64-bit floats unless the column holds integers. Text is a number if, without surrounding spaces, it has the
form of a decimal number (or of the domain's text format), or is "inf". A bin edge is the float nearest to the decimal
edge; because rounding is monotone, a value written with at most 15 digits is on the same side of the edge as its
decimal.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from sqlglot import exp

from gaugedp.domain.attributes import OTHER, Attribute, Bins, BoundedColumn, Categories, EdgeBins, Integers
from gaugedp.domain.dates import Dates
from gaugedp.domain.hierarchies import finest_of
from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.tables.dates import Steps, date_steps
from gaugedp.tables.engine import SPELT, Column, Kind, Sql
from gaugedp.tables.spelling import EXACT, MARKS, category_numbers, truths
from gaugedp.tables.text_values import date_text, number_text


@dataclass(frozen=True)
class ColumnExpression:
    """Aliases `reads` of one column, and `inside` and `code` over them.

    The code becomes a part of the single statement that it is put into.
    """

    reads: dict[str, Sql]
    inside: Sql
    code: Sql
    is_total: bool = True  # whether `code` can be evaluated for every value, inside or not
    is_null_outside: bool = False  # whether `code` is NULL for every value that is not inside
    steps: "Steps" = field(default_factory=list)  # more aliases, each of those before it
    is_dear: bool = False  # whether reading a value is slow: a condition may read it twice

    def kept(self) -> Sql:
        """Return the code, if other rows are left out."""
        return self.code if self.is_total else self.otherwise(None)

    def otherwise(self, code: int | None) -> Sql:
        """Return the code, with a given one for other values."""
        if self.is_null_outside:
            return self.code if code is None else exp.func("COALESCE", self.code, exp.convert(code))
        return _choice(self.inside.copy(), self.code, None if code is None else exp.convert(code))


def read_attribute(attribute: Attribute, column: Column, alias: str) -> ColumnExpression:
    """Return an attribute's expressions, with codes 0 … n_inside − 1."""
    if column.kind is Kind.READ:
        value = exp.column(alias)
        return ColumnExpression({alias: _source(column)}, exp.not_(value.is_(exp.null())), value, is_null_outside=True)
    match attribute:
        case Categories():
            return _categories(*finest_of(attribute), column, alias)
        case Integers():
            return _integers(attribute, column, alias)
        case Bins() if _is_whole(attribute) and column.kind is Kind.INTEGER:
            return _whole_bins(attribute, column, alias)
        case Bins() if _is_exact(attribute):
            return _equal_bins(attribute, column, alias)
        case Bins() | EdgeBins():
            return _edge_bins(_edges(attribute), column, alias)
        case Dates():
            return _dates(attribute, column, alias)
    raise TypeError(f"no reading of {type(attribute).__name__}")


def other_cell(attribute: Attribute) -> int | None:
    """Return the cell of out-of-domain values, if any."""
    return attribute.n_inside if attribute.outside == OTHER else None


def read_steps(bounded: BoundedColumn, column: Column, alias: str) -> ColumnExpression:
    """Return a bounded column's expressions; codes are steps above low."""
    if bounded.column:
        keys, codes = zip(*bounded.by_key, strict=True)
        reading = _keyed(keys, codes, column, alias)
        return replace(reading, code=exp.cast(reading.code, "BIGINT"))
    value = exp.column(alias)
    inside = _is_known(bounded, column, value)
    if column.kind is Kind.INTEGER and bounded.step == 1:
        clipped = _clip(value, exp.convert(bounded.low_steps), exp.convert(bounded.high_steps))
        steps = exp.cast(clipped, "BIGINT")
        return ColumnExpression({alias: _source(column)}, inside, steps - bounded.low_steps)
    clipped = _clip(value, _float(bounded.low), _float(bounded.high))
    steps = exp.cast(exp.func("ROUND", _in_steps(clipped, bounded.step), 0), "BIGINT")
    is_number = exp.and_(inside, exp.not_(exp.IsNan(this=value.copy())))
    return ColumnExpression({alias: number_of(column)}, is_number, steps - bounded.low_steps)


def _is_known(bounded: BoundedColumn, column: Column, value: Sql) -> Sql:
    is_there = exp.not_(value.is_(exp.null()))
    return exp.and_(is_there, exp.not_(is_code(bounded, column, value))) if bounded.unknown else is_there


def is_code(bounded: BoundedColumn, column: Column, value: Sql) -> Sql:
    """Return the condition for a code of a missing value."""
    is_whole = column.kind is Kind.INTEGER and bounded.step == 1
    codes = [code for code in bounded.unknown if not is_whole or (code.denominator == 1 and abs(code) < 2**63)]
    literals = [exp.convert(int(code)) if is_whole else _float(code) for code in codes]
    return value.copy().isin(*literals) if codes else exp.false()


def in_units(steps: Sql, step: Fraction) -> Sql:
    """Convert integer steps to a number, if necessary a float."""
    if step == 1:
        return steps
    value = exp.cast(steps, "DOUBLE")
    return _divided(value if step.numerator == 1 else value * _float(step.numerator), step.denominator)


def missing_steps(bounded: BoundedColumn) -> int | None:
    """Return the steps that replace a missing number, if any."""
    return None if bounded.missing is None else int(bounded.missing / bounded.step) - bounded.low_steps


def read_person(column: Column, alias: str) -> ColumnExpression:
    """Return the person's expressions; `inside` if there is one."""
    value = exp.column(alias)
    inside = exp.not_(value.is_(exp.null()))
    match column.kind:
        case Kind.INTEGER:
            return ColumnExpression({alias: _source(column)}, inside, value)
        case Kind.REAL | Kind.MIXED | Kind.SHORT_REAL:
            is_person = exp.and_(inside, exp.not_(exp.IsNan(this=value.copy())))
            return ColumnExpression({alias: number_of(column)}, is_person, value)
    # as bytes: people are equal only if all letters are, whatever the engine's collation
    text = exp.Encode(this=text_of(column), charset=exp.Literal.string("utf-8"))
    return ColumnExpression({alias: text}, inside, value)


def _categories(values: Sequence[str], starts: Sequence[int], column: Column, alias: str) -> ColumnExpression:
    value = exp.column(alias)
    if column.kind in SPELT - {Kind.BOOLEAN} and column.has_enums and not column.has_marks:
        place = _enum(values, column, alias)
        if len(starts) == len(values):
            return place
        code = _search_edges(value, list(map(exp.convert, starts)), 0, len(starts) - 1)
        return replace(place, code=code, is_null_outside=False)
    return _keyed(values, np.repeat(range(len(starts)), np.diff([*starts, len(values)])).tolist(), column, alias)


def _keyed(values: Sequence[str], codes: Sequence[int], column: Column, alias: str) -> ColumnExpression:
    value = exp.column(alias)
    if column.kind in SPELT:
        places = dict(zip(values, codes, strict=True))
        if column.kind is Kind.BOOLEAN:
            places = {truth: places[text] for truth, text in truths(values).items()}
        elif column.has_marks:
            places = {MARKS[truth]: places[text] for truth, text in truths(values).items()} | places
        texts = sorted(places.items())
        choices: list[tuple[Sql, int]] = [(exp.Literal.string(text), code) for text, code in texts]
        return ColumnExpression({alias: text_of(column)}, _is_any(value, choices), _search_equal(value, choices))
    numbers = category_numbers(values, whole=column.kind is Kind.INTEGER)
    is_integer = column.kind is Kind.INTEGER
    choices = [(exp.convert(int(key)) if is_integer else _float(key), codes[numbers[key]]) for key in sorted(numbers)]
    read = _source(column) if is_integer else number_of(column)
    return ColumnExpression({alias: read}, _is_any(value, choices), _search_equal(value, choices))


@lru_cache(maxsize=16)
def _listed(texts: tuple[str, ...]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def _enum(texts: Sequence[str], column: Column, alias: str) -> ColumnExpression:
    # a single node, because nodes are copied often
    kind = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=f"ENUM({_listed(tuple(texts))})")
    text = _source(column) if column.kind is Kind.TEXT else text_of(column)  # a column of text, or an enum of texts
    place = exp.func("ENUM_CODE", exp.TryCast(this=text, to=kind))
    inside = exp.not_(exp.column(alias).is_(exp.null()))
    return ColumnExpression({alias: place}, inside, exp.column(alias), is_null_outside=True, is_dear=True)


def _integers(attribute: Integers, column: Column, alias: str) -> ColumnExpression:
    value = exp.column(alias)
    if column.kind is Kind.INTEGER:
        in_range, code = value.between(attribute.first, attribute.last), _minus(value, attribute.first)
        return ColumnExpression({alias: _source(column)}, in_range, code, is_total=attribute.first == 0)
    in_range = value.between(_float(attribute.first), _float(attribute.last))
    inside = exp.and_(in_range, value.eq(exp.func("FLOOR", value)))
    code = _try_integer(_minus(value, Fraction(attribute.first)), attribute.n_inside)
    return ColumnExpression({alias: number_of(column)}, inside, code, is_dear=_is_text(column))


def _whole_bins(attribute: Bins, column: Column, alias: str) -> ColumnExpression:
    value, low, width = exp.column(alias), int(attribute.low), int(attribute.width)
    code = exp.func("LEAST", _minus(value, low) // width, exp.convert(attribute.n_inside - 1))
    return ColumnExpression({alias: _source(column)}, value.between(low, int(attribute.high)), code, is_total=low == 0)


def _equal_bins(attribute: Bins, column: Column, alias: str) -> ColumnExpression:
    """Divide to guess the bin, then correct it by its edge. The guess is never too low and at most one too high."""
    value, guess, read = exp.column(alias), exp.column(f"{alias}_guess"), number_of(column)
    scale, first, stride = _whole_edges(attribute)

    def edge(number: Sql) -> Sql:
        return _divided(_minus(number * _float(stride), Fraction(-first)), scale)

    last = _float(attribute.n_inside - 1)
    code = exp.Case().when(guess > last, last.copy()).when(value < edge(guess), guess - 1).else_(guess)
    quotient = _minus(read.copy(), attribute.low) / _float(attribute.width)
    guessed = exp.func("FLOOR", quotient if _is_whole(attribute) else quotient + _float(_shift(attribute)))
    inside = value.between(_float(attribute.low), _float(attribute.high))
    code = _try_integer(code, attribute.n_inside)
    return ColumnExpression({alias: read, guess.name: guessed}, inside, code, is_dear=_is_text(column))


def _edge_bins(edges: Sequence[Fraction], column: Column, alias: str) -> ColumnExpression:
    value = exp.column(alias)
    inside = value.between(_float(edges[0]), _float(edges[-1]))
    code = _search_edges(value, list(map(_float, edges)), 0, len(edges) - 2)
    return ColumnExpression({alias: number_of(column)}, inside, code, is_dear=_is_text(column))


def _dates(attribute: Dates, column: Column, alias: str) -> ColumnExpression:
    text = _in_form(column, date_text) if column.kind is Kind.TEXT else text_of(column)
    reads, steps = date_steps(attribute, text, alias)
    cell = exp.column(alias)
    return ColumnExpression(reads, cell.between(0, attribute.n_inside - 1), cell, steps=steps)


def _edges(attribute: Bins | EdgeBins) -> Sequence[Fraction]:
    if isinstance(attribute, EdgeBins):
        return attribute.edges
    return [attribute.low + attribute.width * place for place in range(attribute.n_inside + 1)]


def _whole_edges(attribute: Bins) -> tuple[int, int, int]:
    """Return integers with edge i = (first + stride·i)/scale."""
    scale = attribute.low.denominator * attribute.width.denominator
    return scale, int(attribute.low * scale), int(attribute.width * scale)


def _is_whole(attribute: Bins) -> bool:
    is_integer = attribute.low.denominator == attribute.width.denominator == 1
    return is_integer and -EXACT < attribute.low < attribute.high < EXACT


def _is_exact(attribute: Bins) -> bool:
    scale, first, stride = _whole_edges(attribute)
    is_fine = _is_whole(attribute) or _shift(attribute) < Fraction(1, 4)
    return is_fine and max(scale, abs(first) + stride * (attribute.n_inside + 2)) < EXACT


def _shift(attribute: Bins) -> Fraction:
    """Bound i − (x − low)/width for x from edge i.

    The bound is 16·u·(M/width + n), u = 2^−53, where M is the largest bound. The edge and the lower bound are off by
    u·M each; the difference, the width and the quotient by u of themselves, and so is the sum with this.
    """
    largest = max(abs(attribute.low), abs(attribute.high))
    return Fraction(16, 2**53) * (largest / attribute.width + attribute.n_inside)


def _search_edges(value: Sql, edges: Sequence[Sql], first: int, last: int) -> Sql:
    if first == last:
        return exp.convert(first)
    middle = (first + last + 1) // 2
    below, above = _search_edges(value, edges, first, middle - 1), _search_edges(value, edges, middle, last)
    return _choice(value < edges[middle], below, above)


def _search_equal(value: Sql, choices: Sequence[tuple[Sql, int]]) -> Sql:
    if len(choices) > 8:  # up to 8 are compared one by one
        middle = len(choices) // 2
        below, above = _search_equal(value, choices[:middle]), _search_equal(value, choices[middle:])
        return _choice(value < choices[middle][0], below, above)
    cases = exp.Case()
    for literal, code in choices:
        cases = cases.when(value.eq(literal.copy()), exp.convert(code), copy=False)
    return cases if choices else exp.cast(exp.null(), "INT")


def _choice(condition: Sql, yes: Sql, no: Sql | None) -> Sql:
    return exp.Case(ifs=[exp.If(this=condition, true=yes)], default=no)


def _is_any(value: Sql, choices: Sequence[tuple[Sql, int]]) -> Sql:
    return value.isin(*(literal.copy() for literal, _ in choices)) if choices else exp.false()


def _source(column: Column) -> Sql:
    return exp.column(column.name, quoted=True)


def text_of(column: Column) -> Sql:
    """Return the text of a column's value."""
    return exp.cast(_source(column), "VARCHAR")


def number_of(column: Column) -> Sql:
    """Return a column's value as a 64-bit float, or NULL."""
    match column.kind:
        case Kind.TEXT:
            return exp.TryCast(this=_in_form(column, number_text), to=exp.DataType.build("DOUBLE"))
        case Kind.SHORT_REAL:
            return exp.TryCast(this=text_of(column), to=exp.DataType.build("DOUBLE"))
    return exp.cast(_source(column), "DOUBLE")


def _in_form(column: Column, read: Callable[[Sql, TextFormat], Sql]) -> Sql:
    """Return a text as `read` in the column's form, and in the default form if the value was no text."""
    stated = read(text_of(column), column.text_format)
    if not column.written:
        return stated
    return _choice(exp.column(column.written, quoted=True), stated, read(text_of(column), PLAIN))


def _is_text(column: Column) -> bool:
    return column.kind in {Kind.TEXT, Kind.SHORT_REAL}


def _float(number: Fraction | int) -> Sql:
    digits = repr(abs(float(number)))
    literal = exp.Literal.number(digits if "e" in digits else f"{digits}e0")
    return exp.Neg(this=literal) if number < 0 else literal


def _try_integer(value: Sql, n_inside: int) -> Sql:
    return exp.TryCast(this=value, to=exp.DataType.build("INT" if n_inside < 2**31 else "BIGINT"))


def _minus(value: Sql, number: Fraction | int) -> Sql:
    if number == 0:
        return value
    return exp.cast(value, "BIGINT") - exp.convert(number) if isinstance(number, int) else value - _float(number)


def _divided(value: Sql, divisor: int) -> Sql:
    return value if divisor == 1 else exp.paren(value) / _float(divisor)


def _clip(value: Sql, low: Sql, high: Sql) -> Sql:
    return exp.Case().when(value.between(low, high), value).when(value < low, low.copy()).else_(high.copy())


def _in_steps(value: Sql, step: Fraction) -> Sql:
    scaled = value if step.denominator == 1 else value * _float(step.denominator)
    return _divided(scaled, step.numerator)
