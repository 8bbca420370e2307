"""Translation of statements from DuckDB to Spark.

The same integers result, and no row makes a statement fail. Expressions that differ are replaced:

- `FLOOR` of a float is a float, because Spark's own fails beyond 2^63; `ROUND` to an integer halves away from 0
  exactly.
- `TRY_CAST` is preserved, so that a misfit is NULL whether or not the session is in ANSI mode.
- A sum of steps is a DECIMAL(38, 0): a BIGINT would wrap or fail. A row number is a BIGINT, because it is multiplied.
- Text becomes bytes unchanged: `ENCODE` fails on text that is not UTF-8, or makes two such people equal.
- A text literal with other characters than letters, digits and simple marks is written in bytes: no setting of the
  session changes it, and `${…}` in it is not replaced. A number with an exponent ends in D, because an old setting
  makes decimals of the others.
"""

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from gaugedp.tables.engine import SOURCE, Sql, bottom_up

PLAIN = re.compile(r"[A-Za-z0-9 _.,:;=<>()-]*")
LIMIT = exp.Literal.number("9.223372036854775808e18D")  # 2^63; far below it every float is an integer


def spark_text(statement: Sql, columns: Mapping[str, str]) -> str:
    """Translate `statement`; `{gaugedp_source}` means the rows."""

    def replaced(node: Sql) -> Sql:
        if isinstance(node, exp.Column) and node.this.args.get("quoted"):
            return exp.column(columns[node.name])
        rule = RULES.get(type(node))
        return node if rule is None else rule(node)

    return str(bottom_up(statement.copy(), replaced).sql(dialect="spark", comments=False))


def _table(node: Sql) -> Sql:
    return exp.Table(this=exp.to_identifier(f"{{{SOURCE}}}", quoted=False)) if node.name == SOURCE else node


def _literal(node: Sql) -> Sql:
    if not node.is_string and "e" in node.this:
        return exp.Literal.number(f"{node.this}D")
    if not node.is_string or PLAIN.fullmatch(node.this):
        return node
    return exp.cast(exp.HexString(this=node.this.encode().hex()), "VARCHAR")


def _floor(node: Sql) -> Sql:
    value = node.this
    whole = exp.cast(exp.Floor(this=value.copy()), "DOUBLE")
    return exp.Case().when(_is_small(value), whole).else_(value.copy())


def _is_small(value: Sql) -> Sql:
    return exp.and_(value.copy() >= exp.Neg(this=LIMIT.copy()), value.copy() < LIMIT.copy())


def _round(node: Sql) -> Sql:
    whole = exp.cast(node.this, "BIGINT")
    fraction = exp.paren(exp.paren(node.this.copy()) - whole.copy()) * exp.Literal.number("2e0D")
    return exp.paren(whole + exp.cast(fraction, "BIGINT"))


def _try_cast(node: Sql) -> Sql:
    node.set("safe", True)  # otherwise sqlglot writes a plain CAST
    if not node.to.is_type("BIGINT"):
        return node
    return exp.Case().when(_is_small(node.this), node)  # Spark converts the float 2^63 to 2^63 − 1


def _sum(node: Sql) -> Sql:
    is_cast = isinstance(node.this, exp.Cast)
    return node if is_cast else exp.Sum(this=exp.cast(node.this, "DECIMAL(38, 0)"))


def _full_match(node: Sql) -> Sql:
    pattern = exp.Literal.string(rf"\A(?:{_text(node.expression)})\z")
    return exp.RegexpLike(this=node.this, expression=_literal(pattern))


def _replace(node: Sql) -> Sql:
    """Name the groups of a pattern as Java does."""
    node.set("replacement", _literal(exp.Literal.string(_text(node.args["replacement"]).replace("\\", "$"))))
    return node


def _text(literal: Sql) -> str:
    found = literal.find(exp.HexString, exp.Literal)
    return bytes.fromhex(found.this).decode() if isinstance(found, exp.HexString) else str(found.this)


def _hexadecimal(node: Sql) -> Sql:
    """Convert the text 0x… to a number."""
    if isinstance(node.this, exp.Concat) and node.this.expressions[0].name == "0x":
        digits = node.this.expressions[1]
        return exp.cast(exp.func("CONV", digits, exp.convert(16), exp.convert(10)), "BIGINT")
    return node


RULES: dict[type, Callable[[Sql], Sql]] = {
    exp.Table: _table,
    exp.Literal: _literal,
    exp.Floor: _floor,
    exp.Round: _round,
    exp.TryCast: _try_cast,
    exp.Sum: _sum,
    exp.Window: lambda node: exp.cast(node, "BIGINT") if isinstance(node.this, exp.RowNumber) else node,
    exp.Encode: lambda node: exp.Cast(this=node.this, to=exp.DataType.build("BINARY", dialect="spark")),
    exp.RegexpFullMatch: _full_match,
    exp.RegexpReplace: _replace,
    exp.Cast: _hexadecimal,
}
