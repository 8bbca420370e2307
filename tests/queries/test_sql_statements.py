"""36 statements in the style of ClickBench, a public benchmark: each is compiled or refused in one sentence."""

import pytest

import gaugedp as gd
from gaugedp.queries.sql import sql_text

HITS = gd.Domain.of(
    OS=["linux", "mac"],
    EventDate=gd.dates("2013-07-01", "2013-07-31", by="day"),
    **{name: gd.integers(0, 3) for name in ("RegionID", "AdvEngineID", "SearchEngineID", "MobilePhone", "UserAgent")},
    TraficSourceID=gd.integers(-1, 3),
    **{name: gd.bounded(0, 4000) for name in ("ResolutionWidth", "ClickDelay", "Age")},
)
COMPILED = [
    ("SELECT COUNT(*) FROM hits", "count"),
    (
        "SELECT SUM(ClickDelay), COUNT(*), AVG(ResolutionWidth) FROM hits",
        "sum(ClickDelay); count; mean(ResolutionWidth)",
    ),
    ("SELECT AVG(ResolutionWidth) FROM hits", "mean(ResolutionWidth)"),
    ("SELECT AdvEngineID, COUNT(*) FROM hits GROUP BY AdvEngineID", "AdvEngineID"),
    (
        "SELECT RegionID, SUM(ClickDelay), COUNT(*) AS c, AVG(ResolutionWidth) FROM hits GROUP BY RegionID",
        "sum(ClickDelay) by RegionID; RegionID; mean(ResolutionWidth) by RegionID",
    ),
    ("SELECT MobilePhone, OS, COUNT(*) FROM hits GROUP BY MobilePhone, OS", "MobilePhone*OS"),
    (
        "SELECT SearchEngineID, UserAgent, COUNT(*) AS c FROM hits GROUP BY SearchEngineID, UserAgent",
        "SearchEngineID*UserAgent",
    ),
    ("SELECT OS, COUNT(*) FROM hits GROUP BY 1", "OS"),
    ("SELECT EventDate, COUNT(*) AS PageViews FROM hits GROUP BY EventDate", "EventDate"),
    (
        "SELECT TraficSourceID, SearchEngineID, AdvEngineID, COUNT(*) AS PageViews FROM hits "
        "GROUP BY TraficSourceID, SearchEngineID, AdvEngineID",
        "TraficSourceID*SearchEngineID*AdvEngineID",
    ),
    (
        "SELECT RegionID, STDDEV_POP(ClickDelay), MEDIAN(Age) FROM hits GROUP BY RegionID",
        "sd(ClickDelay) by RegionID; median(Age) by RegionID",
    ),
    (
        "SELECT RegionID, PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY ClickDelay) AS p95 FROM hits GROUP BY RegionID",
        "quantiles(ClickDelay, 0.95) by RegionID",
    ),
    ("SELECT h.OS, COUNT(*) FROM hits AS h GROUP BY h.OS", "OS"),
]
REFUSED = [
    ("SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0", "WHERE is not supported."),
    ("SELECT COUNT(DISTINCT UserAgent) FROM hits", "DISTINCT UserAgent is not supported."),
    ("SELECT MIN(EventDate), MAX(EventDate) FROM hits", "MIN(EventDate) is not supported."),
    (
        "SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC",
        "WHERE is not supported.",
    ),
    (
        "SELECT RegionID, COUNT(DISTINCT UserAgent) AS u FROM hits GROUP BY RegionID ORDER BY u DESC LIMIT 10",
        "LIMIT is not supported.",
    ),
    (
        "SELECT RegionID, SUM(ClickDelay), COUNT(*) AS c FROM hits GROUP BY RegionID ORDER BY c DESC LIMIT 10",
        "LIMIT is not supported.",
    ),
    ("SELECT UserAgent, COUNT(*) FROM hits GROUP BY UserAgent HAVING COUNT(*) > 100", "HAVING is not supported."),
    (
        "SELECT EXTRACT(minute FROM EventDate) AS m, COUNT(*) FROM hits GROUP BY m",
        "EXTRACT(MINUTE FROM EventDate) is not supported.",
    ),
    ("SELECT OS FROM hits WHERE RegionID = 2", "WHERE is not supported."),
    ("SELECT COUNT(*) FROM hits WHERE OS LIKE '%nux%'", "WHERE is not supported."),
    ("SELECT * FROM hits WHERE OS LIKE '%nux%' ORDER BY EventDate LIMIT 10", "LIMIT is not supported."),
    ("SELECT AVG(LENGTH(OS)) FROM hits", "LENGTH(OS) is not supported."),
    ("SELECT SUM(ResolutionWidth), SUM(ResolutionWidth + 1) FROM hits", "ResolutionWidth + 1 is not supported."),
    ("SELECT 1, OS, COUNT(*) FROM hits GROUP BY 1, OS", "GROUP BY contains something other than names."),
    (
        "SELECT RegionID, RegionID - 1, COUNT(*) FROM hits GROUP BY RegionID, RegionID - 1",
        "RegionID - 1 is not supported.",
    ),
    (
        "SELECT CASE WHEN SearchEngineID = 0 THEN OS ELSE '' END AS s, COUNT(*) FROM hits GROUP BY s",
        "CASE WHEN SearchEngineID = 0 THEN OS ELSE '' END is not supported.",
    ),
    (
        "SELECT DATE_TRUNC('minute', EventDate) AS m, COUNT(*) FROM hits GROUP BY m",
        "DATE_TRUNC('MINUTE', EventDate) is not supported.",
    ),
    ("SELECT EventDate, COUNT(*) FROM hits GROUP BY EventDate LIMIT 10 OFFSET 100", "LIMIT is not supported."),
    (
        "SELECT OS, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) FROM hits GROUP BY OS",
        "ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) is not supported.",
    ),
    (
        "SELECT OS, COUNT(*) FROM hits WHERE EventDate BETWEEN '2013-07-01' AND '2013-07-07' GROUP BY OS",
        "WHERE is not supported.",
    ),
    ("SELECT COUNT(*) FROM hits JOIN regions USING (RegionID)", "JOIN is not supported."),
    ("SELECT OS, COUNT(*) FROM hits GROUP BY CUBE(OS, RegionID)", "CUBE (OS, RegionID) is not supported."),
    ("SELECT OS, COUNT(*) FROM (SELECT OS FROM hits) GROUP BY OS", "The statement must read exactly one table."),
]


@pytest.mark.parametrize(("statement", "text"), COMPILED)
def test_it_is_compiled(statement: str, text: str) -> None:
    assert sql_text(HITS, statement) == text
    assert gd.sql_query(HITS, statement).digest() == gd.query(HITS, text).digest()


@pytest.mark.parametrize(("statement", "sentence"), REFUSED)
def test_it_is_refused_in_one_sentence(statement: str, sentence: str) -> None:
    with pytest.raises(gd.InvalidRequest) as refused:
        sql_text(HITS, statement)
    assert refused.value.what == sentence
