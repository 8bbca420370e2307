"""Queries as text: terms joined by semicolons."""

import re
from collections.abc import Callable
from fractions import Fraction

from gaugedp._internal.names import parts, plain, quoted, without_quoted
from gaugedp._internal.validate import decimal
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries import builders
from gaugedp.queries.base import Query
from gaugedp.queries.linear import Workload
from gaugedp.queries.quantiles import LEVEL, MEDIAN, WITHOUT, Quantiles, quantiles
from gaugedp.queries.sampling import squared_weights
from gaugedp.statistics import KINDS, ColumnMean, Share, Statistic
from gaugedp.statistics.equal_means import EqualMeans

_CALL = re.compile(r'^(?P<word>[A-Za-z_]+)\s*\(\s*(?P<name>(?:"[^"]*"|[^()"])*?)\s*\)(?:\s+by\s+(?P<by>.+))?$')
_BARE = re.compile(r"(\))(\s+by\s+.+?)?\s+without\s+intervals?(\s+by\s+.+)?$")
_OPENED = re.compile(r'(\w+\s*\((?:"[^"]*"|[^()"])+?)\s*(\s+by\s(?:"[^"]*"|[^()"])+)?')
_CELLS: dict[str, Callable[[Domain, str], Workload]] = {"prefix": builders.prefix_sums, "ranges": builders.ranges}
_MEASURES = {kind.word: kind for kind in KINDS.values() if kind.word}
_QUANTILES = ("median", "quantiles", "quantile")
_TESTS: dict[str, type[EqualMeans] | None] = {Share.word: None, ColumnMean.word: EqualMeans}
_WEIGHTED = re.compile(r"^weighted\s+count(?:\s+by\s+(.+))?$")
_SQUARED = re.compile(r'^squared\s+weights(?:\s*\((?P<name>(?:"[^"]*"|[^()"])+)\))?(?:\s+by\s+(?P<by>.+))?$')
_CALLED = re.compile(r"(\w+)\s*\(")
_WORD = re.compile(r"^(weighted|unweighted)\s+(?=\S)(?!by\s)")
_TEST = re.compile(rf"^test\s*\(\s*({'|'.join(_TESTS)})\s*\((.+)\)\s+by\s+(.+?)\s*\)$")
WORDS = ("count", *_CELLS, *_MEASURES, *_QUANTILES[:2], "test", "weighted", "unweighted")  # that begin a term
_RATES = "Write share(A) by B for shares of cells, or ratio(A) by B for ratios of the counts of A to that of its first."
_EXTREMES = "It depends on a single row, which noise cannot hide: use quantiles(…, 0.05, 0.95)."
_INSTEAD = {
    **dict.fromkeys(("average", "avg"), "Write mean."),
    **dict.fromkeys(("shares", "percent", "percentage", "proportion"), "Write share."),
    "rate": _RATES,
    **dict.fromkeys(("growth", "percent_change"), "Write change."),
    **dict.fromkeys(("min", "max", "minimum", "maximum"), _EXTREMES),
    **dict.fromkeys(("std", "stdev", "stddev"), "Write sd."),
    **dict.fromkeys(("var", "variance"), "Write sd, and square the answers and the interval ends."),
    **dict.fromkeys(("distinct", "unique", "nunique"), "Write count, which counts people if each has one row."),
}


def query(domain: Domain, text: str) -> Query:
    """Parse the text of a query.

    A query states which numbers to publish, such as `sex*age` for a table of counts. No data is read: pass the query to
    `gd.plan` to see how precise the answers will be, and to `gd.release` to publish them.

    Parameters
    ----------
    domain : Domain
        The description of the table. Below, A, B and R are attributes and C is a bounded column of it.
    text : str
        One term, or several terms joined by `;`. All terms are answered together, for one charge. The terms are:

        - Counts: `count` (all rows), `A` (rows in each cell), `A*B` (a table), `prefix(A)` (cumulative counts),
          `ranges(A)` (every range of cells), and products of them such as `prefix(A)*R`.
        - Statistics of bounded columns: `sum(C)`, `mean(C) by A`, `sd(C) by A`, `median(C)`, `quantiles(C, 0.1, 0.9) by
          A`, and `median(C) by A without interval`.
        - Shares and comparisons: `share(A) by B`, `change(A) by B`, and likewise `difference`, `ratio` and `index`.
        - Tests, which give p-values: `independence(A, B) by R`, `test(share(A) by B)` and `test(mean(C) by B)`.
        - Survey weights, if the domain has any: all statistics are weighted, `weighted count by A` is the sum of the
          weights, and `unweighted mean(C)` ignores the weights.

        Write a name that contains `*`, `;`, `(`, `)` or a quote in double quotes.

    Returns
    -------
    Query
        The query, for `gd.plan` and `gd.release`.

    Raises
    ------
    UnknownName
        If the domain has no such name, or no term starts with such a word.
    InvalidRequest
        If the text cannot be parsed.

    Examples
    --------
    This query has four answers: two counts and two means.

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], pay=gd.bounded(0, 100))
    >>> list(gd.query(domain, "sex; mean(pay) by sex").labels)
    [('sex', 'sex=1'), ('sex', 'sex=2'), ('mean(pay) by sex', 'sex=1'), ('mean(pay) by sex', 'sex=2')]
    """
    if not isinstance(domain, Domain) or not isinstance(text, str):
        raise InvalidRequest(
            f"A domain and the text of a query are needed, but the arguments are of types {type(domain).__name__} "
            f"and {type(text).__name__}.",
            'Pass a domain and a text, such as gd.query(gd.Domain.load("domain.toml"), "SEX; mean(PINCP) by SEX").',
        )
    try:
        return _query(domain, text)
    except (InvalidRequest, UnknownName):
        meant = quoted(text, [*domain.attributes, *domain.columns])
        if meant == text:
            raise
    raise InvalidRequest(
        "A name in the query contains a character with a special meaning, such as a space or *.",
        f"Write the name in double quotes: {meant}.",
    )


def _query(domain: Domain, text: str) -> Query:
    terms = [term for term in parts(text, ";") if term]
    if not terms:
        raise InvalidRequest("The query is empty.", 'Write for example "SEX; SEX*AGEP; mean(PINCP) by SEX".')
    questions = [_term(domain, term) for term in terms]
    return questions[0] if len(questions) == 1 else builders.stack(*questions)


def _term(domain: Domain, text: str) -> Workload | Quantiles:
    if (counted := _WEIGHTED.match(text)) and text not in domain.attributes:
        return builders.weighted_count(domain, _by(domain, counted[1]))
    if (squared := _SQUARED.match(text)) and text not in domain.attributes:
        column = None if squared["name"] is None else plain(squared["name"].strip())
        return squared_weights(domain, column, _by(domain, squared["by"]) or ())
    if not (word := _WORD.match(text)) or text in domain.attributes:
        return _unprefixed(domain, text, weighted=True)
    rest = text[word.end() :]
    called = _CALLED.match(rest)
    if called is None or called[1] in _CELLS:
        instead = f"weighted count by {rest}" if word[1] == "weighted" and called is None else rest
        raise InvalidRequest(
            f"{text!r} cannot be read as a term, because {rest} is a number of rows, not a column.", f"Write {instead}."
        )
    if word[1] == "weighted" and domain.weights is None:
        raise InvalidRequest(f"{text!r} needs weights, but the domain has none.", "Describe them under [weights].")
    return _unprefixed(domain, rest, weighted=word[1] == "weighted")


def _unprefixed(domain: Domain, text: str, weighted: bool) -> Workload | Quantiles:
    if (bare := _BARE.search(text)) and not (bare[2] and bare[3]):
        inside = text[: bare.end(1)] + (bare[2] or bare[3] or "")
        return _without_interval(_with_interval(domain, inside, weighted))
    return _with_interval(domain, text, weighted)


def _with_interval(domain: Domain, text: str, weighted: bool) -> Workload | Quantiles:
    if test := _TEST.match(text):
        return builders.equality(domain, _product(test[2]), _by(domain, test[3]), _TESTS[test[1]], weighted=weighted)
    call = _CALL.match(text)
    if call is None:
        return _of_names(domain, text)
    word, name, by = call["word"], call["name"], call["by"]
    names = _by(domain, by)
    if word == "count":
        raise InvalidRequest(
            "`count` counts rows, so it does not take the name of a column.",
            f"Write count for the number of rows, or {name or 'A'} for those of each cell.",
        )
    if word in _QUANTILES:
        return _quantiles(domain, word, name, names, weighted)
    _check_level(word, name)
    if word in _MEASURES:
        kind = _MEASURES[word]
        return builders.measured(domain, kind, _named(kind, name), names, weighted=weighted)
    if word in _CELLS:
        ordered = _CELLS[word](domain, plain(name))
        return ordered if names is None else builders.product(ordered, builders.marginals(domain, names))
    raise _unknown(word)


def _of_names(domain: Domain, text: str) -> Workload:
    """Parse a term without a word: cells, or a product such as `prefix(A)*R`."""
    if any(_is_of_cells(part) for part in parts(text, "*")):
        return builders.product(*(_term(domain, part) for part in parts(text, "*")))  # type: ignore[arg-type]
    if text == "count" and "count" not in domain.attributes:
        return builders.count(domain)
    _check_closed(domain, text)
    _check_joined(domain, text)
    return builders.marginals(domain, _product(text))


def _check_level(word: str, inside: str) -> None:
    if any(part.startswith("level=") for part in parts(inside, ",")[1:]):
        raise InvalidRequest(
            f"{word} does not take a confidence level; only median and quantiles do.",
            "Omit the level, and use answer.interval(0.99) afterwards.",
        )


def _named(kind: type[Statistic], text: str) -> tuple[str, ...]:
    if kind.is_of_pairs:
        return tuple(plain(part) for part in parts(text, ","))
    if kind.is_of_products:
        return _product(text) if text else ()
    return (plain(text),)


def _is_of_cells(text: str) -> bool:
    call = _CALL.match(text)
    return call is not None and call["word"] in _CELLS and call["by"] is None


def _unknown(word: str) -> UnknownName:
    if word.lower() in _INSTEAD:
        return UnknownName(f"There is no query {word!r}.", _INSTEAD[word.lower()])
    return UnknownName.among("query", word, WORDS)


def _by(domain: Domain, text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = _product(text)
    if "," in without_quoted(text) and any(name not in domain.attributes for name in names):
        raise InvalidRequest(
            "The attributes after `by` are separated by a comma.",
            f"Cross attributes by *, as in by {'*'.join(parts(text, ','))}. Separate terms by semicolons.",
        )
    return names


def _check_closed(domain: Domain, text: str) -> None:
    if (opened := _OPENED.fullmatch(text)) and any(name not in domain.attributes for name in _product(text)):
        raise InvalidRequest("The query text lacks a closing parenthesis.", f"Write {opened[1]}){opened[2] or ''}.")


def _check_joined(domain: Domain, text: str) -> None:
    other = "" if all(name in domain.attributes for name in _product(text)) else text  # than names joined by *
    bare = without_quoted(other)
    if per := re.match(r"(\w+\s*\(.*\))\s+(?:per|for|in|over|grouped by|group by)\s+(.+)$", other, re.I):
        raise InvalidRequest(f"{text!r} is not a term, because `by` is missing.", f"Write {per[1]} by {per[2]}.")
    if re.search(r"\s(where|if|when)\s|[<>=]", bare, re.I):
        raise InvalidRequest(
            f"{text!r} compares values, but queries do not filter rows.",
            "Request all cells (A, or mean(C) by A), and select those that you need from the release.",
        )
    if re.search(r"\)\s*[-+/]|[-+/]\s*\w+\s*\(", bare):
        raise InvalidRequest(
            f"{text!r} combines answers, but a term requests one table.",
            "Request the parts, separated by semicolons: shares and differences of released answers cost nothing more.",
        )
    if " by " in other and (cells := re.fullmatch(r"(?:count\s+by\s+)?(.+?)(?:\s+by\s+(.+))?", other)):
        raise InvalidRequest(
            f"{text!r} is not a term, because `by` applies only to sums, means, sd, share and quantiles.",
            f"For counts write {'*'.join(name for part in cells.groups() if part for name in parts(part, ','))}.",
        )
    if text.lower() == "count" and "count" not in domain.attributes:
        raise UnknownName(f"There is no query {text!r}.", "Write count.")
    if "" in _product(text):
        raise InvalidRequest(f"A name is missing in {text!r}.", "Cross attributes by *, such as A*B.")
    if re.search(r"[\w)]\s*,\s*\w", bare) or re.search(r"\w\s+by\s+\w", bare):
        raise InvalidRequest(
            f"{text!r} is not a term of the query language.",
            "Separate terms by semicolons and cross attributes by * (A; B; A*B). `by` applies only to sums, "
            "means, sd, share and quantiles.",
        )


def _quantiles(domain: Domain, word: str, inside: str, by: tuple[str, ...] | None, weighted: bool) -> Quantiles:
    """Parse the arguments of `median` and `quantiles`. Both take `level=0.99` as the last argument."""
    column, *arguments = parts(inside, ",")
    has_level = bool(arguments) and arguments[-1].startswith("level=")
    level = _number(arguments.pop().removeprefix("level=")) if has_level else LEVEL
    shares = [_number(part) for part in arguments]
    if word == "median" and shares:
        raise InvalidRequest("median does not take another quantile.", f"Write quantiles({inside}).")
    shares = shares or [MEDIAN] * (word == "median")
    return quantiles(domain, plain(column), *shares, by=by, level=float(level), weighted=weighted)


def _without_interval(term: Workload | Quantiles) -> Quantiles:
    if not isinstance(term, Quantiles):
        raise InvalidRequest(
            f"{term.text} always has an interval, at no further cost.",
            f"Omit{WITHOUT}, which applies only to median and quantiles.",
        )
    is_weighted, shares = bool(term.weights), term.quantiles
    return quantiles(
        term.domain, term.column, *shares, by=term.by, level=term.level, interval=False, weighted=is_weighted
    )


def _number(text: str) -> Fraction:
    try:
        return Fraction(text) if re.fullmatch(r"[0-9]{1,9}/[0-9]{1,9}", text) else decimal(float(text))
    except (ValueError, ZeroDivisionError):  # also NaN and infinity
        raise InvalidRequest(f"{text!r} is not a number.", "Write quantiles as decimals, such as 0.9.") from None


def _product(text: str) -> tuple[str, ...]:
    return tuple(plain(part) for part in parts(text, "*"))
