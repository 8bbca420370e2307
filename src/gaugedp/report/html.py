"""Report of a release: one page, without network access. Its only script is the explorer's."""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gaugedp._internal.names import in_quotes
from gaugedp.domain.captions import Captions
from gaugedp.guarantees import Guarantee, from_dict
from gaugedp.guarantees.printed import rounded_up
from gaugedp.releases.processing import base_of
from gaugedp.report import explorer_page, words
from gaugedp.report.account import account
from gaugedp.report.answers import answers
from gaugedp.report.figures import plain, short
from gaugedp.report.markup import Html, escape, fact, heading, join, listing, of_table, table, tag, titled
from gaugedp.report.page import document
from gaugedp.report.plots import check_installed

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release

_APPENDIX = "Appendix: mechanisms and mathematics"
_LONG = 120  # longest query that is used as a title
_AGAIN = (
    "The same key returns this release from its ledger, at no cost. Without it, or with another, the same query "
    "draws new noise and costs budget again."
)
_FLAGS = {"consistent": "--consistent", "non_negative": "--non-negative", "rounded": "--round"}
_DATES = {"date": "Released", "next_release": "Next release", "contact": "Contact", "licence": "Licence"}
_IN_ROWS = (
    "Errors and intervals are in ranks: the number of rows that may lie between an answer, or an end of its interval, "
    "and the true quantile, in the worst case. The expected l2 norm of all errors is at most the stated error. The "
    "intervals above were released with the answers."
)
_CANDIDATES = ("mechanism", "expected error", "95\u00a0% interval", "simultaneous", "guarantee", "exactness", "noise")


def render(release: "Release", explorer: Html | None = None, remarks: Sequence[str] = ()) -> str:
    """Return the page, deterministically. It includes an `explorer_page.section` and `Release.remarks`, if given."""
    check_installed()
    facts = release.facts
    body = [
        _head(release),
        warnings(facts),
        tag(
            "main",
            answers(release, remarks),
            _protected(release),
            explorer or "",
            titled(
                _APPENDIX,
                tag("h3", "The query"),
                _code(facts["query"]),
                _compared(facts),
                _steps(facts["steps"]),
                _again(release),
                class_="appendix",
            ),
        ),
    ]
    title = release.captions.title or f"{_question(facts)} – {facts['table']}"
    extras = () if explorer is None else (explorer_page.policy(), explorer_page.looks())
    return document(title, body, "Made from a release; no row was read for it.", *extras)


def _head(release: "Release") -> Html:
    facts, captions = release.facts, release.captions
    source = f"Source: {captions.source}" if captions.source else ""
    about = [*filter(None, (source, captions.footnote)), *imprint(captions)]
    count = plain(len(release.labels))
    words_below = f"These statistics include random noise to protect privacy. {count} answer{'s' * (count != '1')}."
    return heading(
        of_table(facts["table"]),
        captions.title or _question(facts),
        tag("p", words_below, class_="lead"),
        *(tag("p", text, class_="small") for text in about),
    )


def imprint(captions: Captions) -> list[str]:
    """Return a line with date, next release, contact and licence, if there are any."""
    said = [f"{words}: {text}" for name, words in _DATES.items() if (text := getattr(captions, name))]
    return [" · ".join(said)] if said else []


def _question(facts: Mapping[str, Any]) -> str:
    text = str(facts["query"])
    terms = text.split("; ")
    if len(text) <= _LONG:
        return text
    return f"{text[:_LONG].rpartition(';')[0] or text[:_LONG]}; … ({len(terms)} terms)"


def warnings(facts: Mapping[str, Any]) -> Html:
    """Return warnings about a seeded release or an in-memory ledger."""
    said = []
    if facts.get("research_seed") is not None:
        said.append(
            tag("strong", "This release protects nobody.")
            + escape(f" It was made with a research seed ({facts['research_seed']}): its noise is reproducible.")
        )
    if facts.get("account", {}).get("durable") is False:
        said.append(
            tag("strong", "In-memory ledger: for tests and trials.")
            + escape(" The record of what was spent is lost when the program ends; nothing limits the next release.")
        )
    return join(tag("p", Html(text), class_="warning", role="note") for text in said)


def _protected(release: "Release") -> Html:
    facts = release.facts
    return titled(
        "How privacy is protected",
        _three_facts(release),
        tag("h3", "Who is protected"),
        tag("p", f"{words.neighbours(facts['unit'])} In short: {facts['protects']}."),
        tag("h3", "Rules for rows"),
        listing(facts["rules"]) if facts["rules"] else tag("p", "None: every row counts."),
    )


def _three_facts(release: "Release") -> Html:
    facts, unit = release.facts, release.facts["unit"]
    guarantee = release.guarantee
    request = from_dict(facts["asked"])
    exactly = words.in_detail(guarantee)
    sharper = f"Requested: {words.symbol(request)}; the mechanism's own guarantee implies it."
    return tag(
        "div",
        fact(
            "Guaranteed",
            _symbol(guarantee, request),
            tag("p", words.guaranteed(guarantee, unit)),
            tag("p", words.best_guess(guarantee, unit)),
            tag("p", sharper, class_="small") if request != guarantee else "",
            tag("details", tag("summary", "In detail"), tag("p", exactly, class_="small")) if exactly else "",
        ),
        spent(facts),
        fact(
            "How exact",
            release.exactness,
            tag("p", words.exactness(release.exactness)),
            tag("p", words.verified(facts), class_="small"),
        ),
        class_="facts",
    )


def _symbol(guarantee: Guarantee, request: Guarantee) -> str:
    """Return the guarantee as a formula, the requested one if necessary."""
    formula = words.symbol(guarantee)
    return formula if formula != rounded_up(guarantee) else f"{words.symbol(request)} (in detail: {formula})"


def spent(facts: Mapping[str, Any]) -> Html:
    """Return the box with the cost of a release."""
    if "account" not in facts:
        return fact("Spent", "unknown", tag("p", "The release has no account."))
    balance = facts["account"]
    return fact("Spent", words.amount(balance["charged"]), account(balance))


def _compared(facts: Mapping[str, Any]) -> Html:
    offers = facts["candidates"]
    mechanism = facts["mechanism"]
    if not offers:
        text = f"The caller chose {mechanism['name']}: {mechanism['noise']}. Nothing was compared."
        return join([tag("h3", "Mechanisms compared"), tag("p", text)])
    largest = max(offer["error"] for offer in offers)
    explained = (
        "All satisfy the guarantee, and were compared before any row was read. The expected error is the "
        "l2 norm of the noise of all released numbers; one row of a sum counts like one row of a count. "
        "Intervals are for the answer with the most noise, and ± is half their length."
    )
    if mechanism.get("has_ranks"):
        explained += words.BESIDE_RANKS
    if mechanism.get("in_rows"):
        explained = _IN_ROWS
    bound = (facts.get("lower_bound") or {}).get("words", "No lower bound is known for this query and guarantee.")
    parts = (
        tag("h3", "Mechanisms compared"),
        tag("p", f"Chosen: {mechanism['name']}. Reason: {facts['reason']}."),
        tag("p", bound),
        table("Candidates", _CANDIDATES, (_offer(offer, largest) for offer in offers), class_="offers"),
        tag("p", explained, class_="small"),
    )
    return join(parts)


def _offer(offer: Mapping[str, Any], largest: float) -> list[str]:
    share = 100 * offer["error"] / largest if largest > 0 else 0.0
    bar = tag("span", class_="bar chosen" if offer["chosen"] else "bar", style=f"width:{share:.1f}%")
    name = join([offer["mechanism"], *[tag("span", "chosen", class_="badge")] * bool(offer["chosen"])], " ")
    widths = [f"± {short(offer[key])}" for key in ("interval_95", "simultaneous_95")]
    error = join([short(offer["error"]), tag("span", bar, class_="track", aria_hidden="true")])
    guarantee = words.amount(offer["guarantee"])
    return [name, error, *widths, guarantee, offer["exactness"], offer["noise"]]


def _steps(runs: list[list[Any]]) -> Html:
    """Return the number of released values for each step."""
    counts: dict[str, int] = {}
    for count, step in runs:
        counts[str(step)] = counts.get(str(step), 0) + int(count)
    lines = [f"{plain(count)} number{'s' * (count != 1)} in steps of {step}" for step, count in counts.items()]
    lines = lines[:12] + [f"and {len(lines) - 12:,} more kinds of step"] * (len(lines) > 12)
    said = "Released values are multiples of public step sizes, which were fixed before any row was read."
    return join([tag("h3", "Steps"), tag("p", said), listing(lines)])


def _again(release: "Release") -> Html:
    facts, balance = release.facts, release.facts.get("account", {})
    items: list[tuple[str, str]] = [("Digest of the query", tag("code", facts["digest"]))]
    checks: list[str] = []
    if balance:
        items.append(("Ledger entry", str(balance["entry"])))
        items.append((f"Tip after entry {balance['entry']}", tag("code", balance["tip"])))
        checks = [tag("h4", "Check the ledger"), _code(f"gaugedp ledger verify LEDGER --tip {balance['tip']}")]
    lines = [join([tag("dt", name), tag("dd", value)]) for name, value in items]
    parts = (
        tag("h3", "How to reproduce this"),
        tag("p", _AGAIN),
        *_commands(release),
        *checks,
        tag("h4", "Identifiers"),
        tag("dl", *lines, class_="names"),
    )
    return join(parts)


def _commands(release: "Release") -> list[Html]:
    """Return the commands that repeat the request.

    Those of a publication name its file, which divides the guarantee.
    """
    if release.captions.terms:
        line = "gaugedp publish PUBLICATION.toml --ledger LEDGER --out FOLDER"
        return [tag("h4", "On the command line"), _code(line)]
    return [_command(release.facts), tag("h4", "In Python"), _code(_python(release.facts))]


def _command(facts: Mapping[str, Any]) -> Html:
    if not facts["candidates"] or "matrix(" in facts["query"]:
        return Html("")
    numbers = " ".join(f"--{name} {value}" for name, value in _parameters(from_dict(facts["asked"])).items())
    question = shlex.quote(facts["query"])
    done = _steps_of_all(facts)
    steps = "".join(f" {_FLAGS.get(step) or f'--round-to {base_of([step])}'}" for step in done)
    key = f" --key {shlex.quote(_key(facts))}" if _key(facts) else ""
    domain = shlex.quote(_domain_file(facts))
    line = f"gaugedp release TABLE --domain {domain} --query {question} {numbers} --ledger LEDGER{steps}{key}"
    return join([tag("h4", "On the command line"), _code(line)])


def _steps_of_all(facts: Mapping[str, Any]) -> list[str]:
    """Return the steps of the whole release; those of single tables are in the publication file only."""
    done = facts.get("processing", {})
    return [] if "parts" in done else list(done.get("steps", ()))


def _domain_file(facts: Mapping[str, Any]) -> str:
    """Return the name of the domain file, by default domain.toml."""
    return str(facts.get("domain_file", "domain.toml"))


def _key(facts: Mapping[str, Any]) -> str:
    """Return the key of the request, if recorded."""
    return str(facts.get("account", {}).get("key", ""))


def _python(facts: Mapping[str, Any]) -> str:
    """Return Python code that repeats the request. It cannot contain a matrix or the caller's own mechanism."""
    unit = ", ".join(f"{name}={value!r}" for name, value in facts["unit"].items())
    with_matrix = "matrix(" in facts["query"]
    question = in_quotes(facts["query"])
    arguments = [f"{name}={value}" for name, value in _parameters(from_dict(facts["asked"])).items()]
    guarantee = ", ".join(arguments) if facts["candidates"] else f"mechanism=mechanism  # {facts['mechanism']['name']}"
    steps = _steps_of_all(facts)
    lines = [
        "import gaugedp as gd",
        "",
        f"domain = gd.Domain.load({in_quotes(_domain_file(facts))})",
        "query = gd.workload(matrix, domain)" if with_matrix else f"query = gd.query(domain, {question})",
        f"unit = gd.PrivacyUnit({unit})",
        f'table = gd.Table.scan("TABLE", domain=domain, unit=unit, name={in_quotes(facts["table"])})',
        f'ledger = gd.Ledger.open("LEDGER"{_budget(facts)})',
        "answer = gd.release(",
        "    query,",
        "    table,",
        "    ledger=ledger,",
        *([f"    key={in_quotes(_key(facts))},"] if _key(facts) else []),
        *([f"    processing={tuple(steps)!r},"] if steps else []),
        f"    {guarantee}",
        ")",
    ]
    return "\n".join(lines)


def _budget(facts: Mapping[str, Any]) -> str:
    budget = facts.get("account", {}).get("budget", "")
    return f", budget=gd.{budget}" if words.guarantee_in(budget) else ""


def _parameters(guarantee: Guarantee) -> dict[str, str]:
    """Return the numbers of a guarantee, as a person writes them."""
    numbers = {name: value for name, value in guarantee.to_dict().items() if isinstance(value, float)}
    return {name: repr(value).removesuffix(".0") for name, value in numbers.items()}


def _code(text: str) -> Html:
    shown = join((escape(line) for line in text.split("\n")), "\n")
    return tag("pre", tag("code", shown), tabindex="0")
