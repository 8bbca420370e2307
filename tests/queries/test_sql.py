"""A small SELECT: what it asks, and what is refused by its name."""

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.queries.sql import sql_text
from gaugedp.tables.select import read_select

DOMAIN = gd.Domain.of(
    REGION=["n", "s"], SEX=["m", "f"], Age=gd.bounded(0, 99), PINCP=gd.bounded(0, 100_000), **{"a*b": ["u", "v"]}
)
ASKED = [
    ("SELECT COUNT(*) FROM people", "count"),
    ("select count(1) as n from people", "count"),
    ("SELECT SEX, COUNT(*) FROM people GROUP BY SEX", "SEX"),
    ("SELECT region, sex, COUNT(*) FROM people GROUP BY region, sex", "REGION*SEX"),
    ("SELECT SEX, REGION, COUNT(*) FROM people GROUP BY 2, 1", "REGION*SEX"),
    ("SELECT SUM(PINCP) FROM people", "sum(PINCP)"),
    ("SELECT SEX, SUM(PINCP) AS total FROM people p GROUP BY SEX", "sum(PINCP) by SEX"),
    ("SELECT AVG(age), AVG(pincp) FROM people", "mean(Age); mean(PINCP)"),
    (
        "SELECT REGION, SEX, COUNT(*), AVG(PINCP) FROM people GROUP BY REGION, SEX",
        "REGION*SEX; mean(PINCP) by REGION*SEX",
    ),
    ("SELECT STDDEV_POP(PINCP) FROM people", "sd(PINCP)"),
    ("SELECT SEX, STDDEV(PINCP) FROM people GROUP BY SEX", "sd(PINCP) by SEX"),
    ("SELECT MEDIAN(PINCP) FROM people", "median(PINCP)"),
    ("SELECT SEX, MEDIAN(PINCP) FROM people GROUP BY SEX", "median(PINCP) by SEX"),
    ("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY PINCP) FROM people", "quantiles(PINCP, 0.9)"),
    (
        "SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY PINCP), "
        "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY PINCP) FROM people",
        "quantiles(PINCP, 0.1, 0.9)",
    ),
    ('SELECT "a*b", COUNT(*) FROM people GROUP BY "a*b"', '"a*b"'),
    ("SELECT COUNT(*), COUNT(*) FROM people;", "count"),
    ("SELECT p.SEX, COUNT(*) FROM people AS p GROUP BY p.SEX", "SEX"),
    ("SELECT people.SEX, COUNT(*) FROM public.people GROUP BY SEX, 1", "SEX"),
]
REFUSED = [
    ("SELECT * FROM people", "is not supported"),
    ("SELECT SEX FROM people GROUP BY SEX", "selects no aggregate"),
    ("SELECT COUNT(*) FROM people WHERE SEX = 'm'", "WHERE is not supported"),
    ("SELECT SEX, COUNT(*) FROM people GROUP BY SEX HAVING COUNT(*) > 3", "HAVING is not supported"),
    ("SELECT SEX, COUNT(*) FROM people GROUP BY SEX ORDER BY 2", "ORDER BY is not supported"),
    ("SELECT SEX, COUNT(*) FROM people GROUP BY SEX LIMIT 3", "LIMIT is not supported"),
    ("SELECT DISTINCT COUNT(*) FROM people", "DISTINCT is not supported"),
    ("SELECT COUNT(DISTINCT SEX) FROM people", "DISTINCT SEX is not supported"),
    ("SELECT COUNT(PINCP) FROM people", "COUNT of a column"),
    ("SELECT AVG(DISTINCT PINCP) FROM people", "is not supported"),
    ("SELECT MIN(PINCP) FROM people", "is not supported"),
    ("SELECT SUM(PINCP) / COUNT(*) FROM people", "is not supported"),
    ("SELECT AVG(PINCP + 1) FROM people", "is not supported"),
    ("SELECT COUNT(*) FILTER (WHERE SEX = 'm') FROM people", "is not supported"),
    ("SELECT COUNT(*) OVER () FROM people", "is not supported"),
    ("SELECT SEX, COUNT(*) FROM people", "is selected, but is neither an aggregate nor"),
    ("SELECT COUNT(*) FROM people GROUP BY ROLLUP(SEX)", "is not supported"),
    ("SELECT COUNT(*) FROM people GROUP BY 'SEX'", "other than names"),
    ("SELECT COUNT(*) FROM people GROUP BY 2", "is not a selected column"),
    ("SELECT COUNT(*) FROM people GROUP BY Age", "no attribute 'Age'"),
    ("SELECT AVG(SEX) FROM people", "no bounded column 'SEX'"),
    ("SELECT COUNT(*) FROM people JOIN areas ON people.a = areas.a", "JOIN is not supported"),
    ("SELECT COUNT(*) FROM people, areas", "JOIN is not supported"),
    ("SELECT COUNT(*) FROM (SELECT 1)", "must read exactly one table"),
    ("SELECT COUNT(*)", "must read exactly one table"),
    ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM x", "WITH is not supported"),
    ("SELECT COUNT(*) FROM a UNION SELECT COUNT(*) FROM b", "The text is not one SELECT statement"),
    ("SELECT COUNT(*) FROM a; SELECT COUNT(*) FROM b", "The text is not one SELECT statement"),
    ("DELETE FROM people", "The text is not one SELECT statement"),
    ("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY PINCP DESC) FROM people", "DESC is not supported"),
    ("SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY PINCP) FROM people", "is not supported"),
    ("SELECT COUNT(*) FROM people TABLESAMPLE (10 PERCENT)", "is not supported"),
    ("SELECT COUNT(*) FROM people PIVOT (SUM(PINCP) FOR SEX IN ('m'))", "is not supported"),
    ("SELECT COUNT(*) FROM read_csv('x.csv')", "is not supported"),
    ("SELECT COUNT(*) FROM people GROUP BY SEX WITH ROLLUP", "is not supported"),
    ("SELECT COUNT(1, SEX) FROM people", "is not supported"),
    ("SELECT COUNT(*, SEX) FROM people", "no SQL|is not supported"),
    ("SELECT AVG(other.PINCP) FROM people", "other is not the table"),
    ("SELECT COUNT(*) FROM people GROUP BY other.SEX", "other is not the table"),
    ("SELECT COUNT(*) FROM people FOR UPDATE", "is not supported"),
    ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "The statement cannot be parsed as SQL|one table"),
    ("SELECT (", "The statement cannot be parsed as SQL"),
    ("", "The text is not one SELECT statement"),
]


@pytest.mark.parametrize(("statement", "text"), ASKED)
def test_what_a_select_asks(statement: str, text: str) -> None:
    assert sql_text(DOMAIN, statement) == text
    assert gd.sql_query(DOMAIN, statement).digest() == gd.query(DOMAIN, text).digest()


@pytest.mark.parametrize(("statement", "words"), REFUSED)
def test_what_is_not_supported_is_named(statement: str, words: str) -> None:
    with pytest.raises((gd.InvalidRequest, gd.UnknownName), match=words):
        sql_text(DOMAIN, statement)


def test_names_that_differ_in_case_alone_are_told_apart() -> None:
    domain = gd.Domain.of(sex=["m"], SEX=["m"])
    assert sql_text(domain, "SELECT SEX, COUNT(*) FROM t GROUP BY SEX") == "SEX"
    with pytest.raises(gd.UnknownName):
        sql_text(domain, "SELECT Sex, COUNT(*) FROM t GROUP BY Sex")


def test_other_types_are_refused() -> None:
    with pytest.raises(gd.InvalidRequest, match="of types Domain and int"):
        gd.sql_query(DOMAIN, 3)  # type: ignore[arg-type]
    with pytest.raises(gd.InvalidRequest, match="of types str and str"):
        gd.sql_query("domain", "SELECT 1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statement", "groups"),
    [
        ("SELECT `GROUP`, AVG(`capital-gain`) FROM `a`.`t` GROUP BY `GROUP`", ("GROUP",)),
        ("SELECT [GROUP], AVG([capital-gain]) FROM dbo.[my table] GROUP BY [GROUP]", ("GROUP",)),
        ('SELECT "a`b", AVG("capital-gain") FROM t GROUP BY "a`b"', ("a`b",)),
        ('SELECT "a[b]", AVG("capital-gain") FROM t GROUP BY "a[b]"', ("a[b]",)),
    ],
)
def test_names_are_quoted_as_other_engines_quote_them(statement: str, groups: tuple[str, ...]) -> None:
    selected = read_select(statement)
    assert (selected.groups, selected.aggregates[0].column) == (groups, "capital-gain")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT AVG(capital-gain) FROM t", 'double quotes: "capital-gain"'),
        ("SELECT AVG(a-b-c) FROM t", 'double quotes: "a-b-c"'),
        ("SELECT A, COUNT(*) FROM t GROUP BY ROLLUP(A)", 'such as "A; count"'),
        ("SELECT A, B, COUNT(*) FROM t GROUP BY A, B WITH ROLLUP", 'such as "A*B; A; B; count"'),
        ("SELECT A, B, COUNT(*) FROM t GROUP BY GROUPING SETS ((A, B), (A), ())", 'such as "A*B; A; B; count"'),
        ("SELECT AVG(a - 1) FROM t", "Use only COUNT"),
        ("SELECT A, COUNT(*) FROM t GROUP BY ALL", "Use only COUNT"),
    ],
)
def test_what_stands_in_other_engines_is_refused_with_what_to_write(statement: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match="is not supported") as refused:
        read_select(statement)
    assert words in str(refused.value)
