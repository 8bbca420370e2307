"""Questions as text: terms joined by semicolons."""

import re
from collections.abc import Callable

from gaugedp.domain import Domain
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries.builders import bounded_means, bounded_sums, count, marginals, prefix_sums, ranges, stack
from gaugedp.queries.linear import Workload

_CALL = re.compile(r"^(?P<word>[A-Za-z_]+)\s*\(\s*(?P<name>[^()]*?)\s*\)(?:\s+by\s+(?P<by>.+))?$")
_CELLS: dict[str, Callable[[Domain, str], Workload]] = {"prefix": prefix_sums, "ranges": ranges}
_MEASURES: dict[str, Callable[..., Workload]] = {"sum": bounded_sums, "mean": bounded_means}


def query(domain: Domain, text: str) -> Workload:
    """Return the question that `text` asks: `A`, `A*B`, `count`, `prefix(A)`, `ranges(A)`, `sum(C)`, `mean(C) by A`.

    Terms are joined by `;`. Names are those of the domain.
    """
    terms = [term.strip() for term in text.split(";") if term.strip()]
    if not terms:
        raise InvalidRequest("The question is empty.", 'Ask for example "SEX; SEX*AGEP; mean(PINCP) by SEX".')
    return stack(*(_term(domain, term) for term in terms))


def _term(domain: Domain, text: str) -> Workload:
    call = _CALL.match(text)
    if call is None:
        if text == "count" and "count" not in domain.attributes:
            return count(domain)
        return marginals(domain, _product(text))
    word, name, by = call["word"], call["name"], call["by"]
    if word == "count":
        raise InvalidRequest("count takes no name.", "Write count.")
    if word in _MEASURES:
        return _MEASURES[word](domain, name, _product(by) if by else None)
    if word in _CELLS and by is None:
        return _CELLS[word](domain, name)
    if word in _CELLS:
        raise InvalidRequest(f"{word}(…) does not take by.", f"Ask for {word}({name}) alone.")
    raise UnknownName.among("question", word, ["count", *_CELLS, *_MEASURES])


def _product(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split("*"))
