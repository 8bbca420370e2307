"""Translation of statements from DuckDB to PostgreSQL.

The same integers result, and no row makes a statement fail. PostgreSQL has no TRY_CAST, and its casts and its float
arithmetic raise errors that may quote a value. Therefore:

- Each source column is read once, in the common table expression `SOURCE`: integers as bigint, text in byte order,
  and, next to text, the number that it represents (`_number`), found without a cast that can fail.
- Floats that are multiplied or divided by a constant are first clipped to 10^−150 … 10^150 in size, so that nothing
  overflows or underflows; values beyond have no cell, or the same one. A cast to an integer is made only in its range.
- A literal with an exponent is a float, not a numeric; ROUND halves away from 0; `//` truncates towards 0; sums are
  numeric.
- OFFSET 0 preserves a subquery: otherwise its expressions would be copied to wherever they are used.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from gaugedp.tables.engine import SOURCE, Column, Kind, Sql, bottom_up, quoted
from gaugedp.tables.spelling import DECIMAL_NUMBER

_SPACES = r"[ \t\n\r\f]*"
_NUMBER = rf"^{_SPACES}({DECIMAL_NUMBER}|[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?){_SPACES}$"
_INFINITE = f"{2**1024 - 2**970}"  # from here on, the nearest float is infinite
_BOTTOM = f"{5**1075}e-1075"  # 2^−1075: up to here, the nearest float is 0
_LARGE, _SMALL = "1e150", "1e-150"
_RANGES = {"INT": (-(2**31), "<=", 2**31 - 1), "BIGINT": (-(2**63), "<", 2**63)}

Columns = Mapping[str, Column]


def postgres_text(statement: Sql, columns: Columns, table: str) -> str:
    """Translate `statement` over the `columns` of an SQL `table`."""
    rules = _Rules(columns)
    text = bottom_up(statement.copy(), rules).sql(dialect="postgres", comments=False)
    reads = [read for i, column in enumerate(columns.values()) for read in _reads(column, i)]
    return f"WITH {SOURCE} AS (SELECT {', '.join(reads) or '1 AS one'} FROM {table} OFFSET 0) {text}"


def _reads(column: Column, i: int) -> list[str]:
    name = quoted(column.name)
    match column.kind:
        case Kind.INTEGER:
            return [f"CAST({name} AS bigint) AS c{i}"]
        case Kind.REAL:
            return [f"{name} AS c{i}"]
        case Kind.SHORT_REAL:
            return [f"CAST(CAST({name} AS text) AS double precision) AS c{i}"]
    shown = f"trim_scale({name})" if column.type_name.endswith("(numeric)") else name  # 1.0 and 1.00 are one person
    text = f'CAST({shown} AS text) COLLATE "C"'
    return [f"{text} AS c{i}", f"{_number(text)} AS n{i}"]


def _number(text: str) -> str:
    pattern = _NUMBER.replace("\\", "\\\\").replace("'", "''")
    trimmed = f"SELECT lower(btrim({text}, E' \\t\\n\\r\\f')) AS t WHERE {text} ~ E'{pattern}' OFFSET 0"
    parts = f"""SELECT t, CASE WHEN t LIKE '-%' THEN -1 ELSE 1 END AS sign,
        ltrim(split_part(ltrim(split_part(t, 'e', 1), '+-'), '.', 1), '0') AS whole,
        split_part(split_part(t, 'e', 1), '.', 2) AS fraction,
        CASE WHEN split_part(t, 'e', 2) LIKE '-%' THEN -1 ELSE 1 END AS direction,
        ltrim(split_part(t, 'e', 2), '+-0') AS power FROM ({trimmed}) AS trimmed OFFSET 0"""
    power = "direction * CASE WHEN length(power) > 8 THEN 99999999 ELSE CAST('0' || power AS integer) END"
    zeros = "length(fraction) - length(ltrim(fraction, '0'))"
    size = f"{power} + CASE WHEN whole <> '' THEN length(whole) - 1 ELSE -1 - ({zeros}) END"
    sized = f"SELECT *, {size} AS size FROM ({parts}) AS parts OFFSET 0"
    infinite, exact = "sign * CAST('Infinity' AS double precision)", "CAST(t AS double precision)"
    return f"""(SELECT CASE WHEN t LIKE '%inf%' THEN {infinite}
        WHEN ltrim(whole || fraction, '0') = '' OR size < -330 THEN 0 WHEN size > 309 THEN {infinite}
        WHEN size BETWEEN -300 AND 307 THEN {exact} WHEN length(t) > 10000 THEN NULL
        WHEN abs(CAST(t AS numeric)) >= {_INFINITE} THEN {infinite} WHEN abs(CAST(t AS numeric)) <= {_BOTTOM} THEN 0
        ELSE {exact} END FROM ({sized}) AS sized)"""


class _Rules:
    """Translations of DuckDB's expressions."""

    def __init__(self, columns: Columns) -> None:
        self._places = {name: i for i, name in enumerate(columns)}
        self._kinds = {f"c{i}": column.kind for i, column in enumerate(columns.values())}

    def __call__(self, node: Sql) -> Sql:
        """Return the translation of a node with translated children."""
        if isinstance(node, exp.Column):
            return exp.column(f"c{self._places[node.name]}") if node.this.args.get("quoted") else node
        if isinstance(node, exp.Cast) and (read := self._read(node)) is not None:
            return read
        rule = _RULES.get(type(node))
        return node if rule is None else rule(node)

    def _read(self, cast: Sql) -> Sql | None:
        source = next((column for column in cast.find_all(exp.Column) if column.name in self._kinds), None)
        if source is None:
            return None
        kind, is_direct = self._kinds[source.name], cast.this is source
        if cast.to.is_type("DOUBLE"):
            if kind in (Kind.TEXT, Kind.WIDE):
                return exp.column(f"n{source.name[1:]}")
            return source.copy() if kind is not Kind.INTEGER else None
        return source.copy() if is_direct and cast.to.is_type("VARCHAR") else None


def _double(text: str) -> Sql:
    return exp.cast(exp.Literal.string(text), "DOUBLE")


def _literal(node: Sql) -> Sql:
    return node if node.is_string or "e" not in node.this.lower() else _double(node.this)


def _scaled(node: Sql) -> Sql:
    """Make a product or quotient with a constant safe."""
    value, factor = node.this.unnest(), node.expression
    factor = factor.this if isinstance(factor, exp.Neg) else factor
    if not (isinstance(factor, exp.Cast) and factor.this.is_string):
        return node
    if isinstance(node, exp.Div):
        node.set("typed", True)  # both are already floats
    if not isinstance(value, exp.Cast):  # a converted integer cannot be so large
        tiny = exp.func("ABS", value.copy()) < _double(_SMALL)
        within = exp.func("LEAST", exp.func("GREATEST", value.copy(), _double(f"-{_LARGE}")), _double(_LARGE))
        node.set("this", exp.Case().when(tiny, exp.Sign(this=value.copy()) * _double(_SMALL)).else_(within))
    return node


def _round(node: Sql) -> Sql:
    value = node.this
    whole = exp.func("TRUNC", value)
    fraction = exp.func("ABS", exp.paren(value.copy()) - whole.copy())
    outward = exp.Case().when(fraction >= _double("0.5"), exp.Sign(this=value.copy())).else_(exp.convert(0))
    return exp.paren(whole.copy() + outward)


def _try_integer(node: Sql) -> Sql:
    low, sign, high = _RANGES[node.to.sql().upper()]
    value = node.this
    below = exp.LT if sign == "<" else exp.LTE
    in_range = exp.and_(value >= _double(str(low)), below(this=value.copy(), expression=_double(str(high))))
    return exp.Case().when(in_range, exp.cast(value.copy(), node.to.copy()))


def _hexadecimal(node: Sql) -> Sql:
    """Convert the text 0x… of 15 digits to a number."""
    if not isinstance(node.this, exp.Concat):
        return node
    text = exp.func("CONCAT", exp.Literal.string("x"), node.this.expressions[1])
    return exp.cast(exp.cast(text, exp.DataType.build("BIT(60)", dialect="postgres")), "BIGINT")


def _quotient(node: Sql) -> Sql:
    if node.this.find(exp.Sum):
        return node
    return exp.paren(exp.Div(this=exp.paren(node.this), expression=exp.paren(node.expression), typed=True))


def _full_match(node: Sql) -> Sql:
    return exp.RegexpLike(this=node.this, expression=exp.Literal.string(f"^(?:{node.expression.this})$"))


def _together(node: Sql) -> Sql:
    inner = node.this
    if isinstance(inner, exp.Select) and inner.args.get("offset") is None:
        inner.set("offset", exp.Offset(expression=exp.convert(0)))
    return node


_RULES: dict[type, Callable[[Any], Sql]] = {
    exp.Literal: _literal,
    exp.Mul: _scaled,
    exp.Div: _scaled,
    exp.Round: _round,
    exp.TryCast: _try_integer,
    exp.Cast: _hexadecimal,
    exp.IntDiv: _quotient,
    exp.IsNan: lambda node: exp.EQ(this=node.this, expression=_double("NaN")),
    exp.Encode: lambda node: node.this,
    exp.Subquery: _together,
    exp.RegexpFullMatch: _full_match,
}
