"""Report of a release: one page, without network access. Its only script is the explorer's."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gaugedp._internal.language import dated, listed, say, translated, written_in
from gaugedp._internal.names import in_quotes
from gaugedp.domain.captions import Captions
from gaugedp.guarantees import Guarantee, from_dict
from gaugedp.guarantees.printed import rounded_up
from gaugedp.releases.processing import base_of
from gaugedp.releases.tidy.in_words import meaning, rules
from gaugedp.report import explorer_page, words
from gaugedp.report.account import account
from gaugedp.report.answers import answers
from gaugedp.report.figures import plain, short
from gaugedp.report.markup import Html, escape, fact, heading, join, listing, of_table, table, tag, titled
from gaugedp.report.page import document
from gaugedp.report.plots import check_installed
from gaugedp.report.terms import read_terms

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release

_LETTERS = 120  # longest query that is used as a title
_WIDTHS = ("interval", "simultaneous")
_FLAGS = {"consistent": "--consistent", "non_negative": "--non-negative", "rounded": "--round"}
_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DATES = ("date", "next_release", "contact", "licence")


def render(release: "Release", explorer: Html | None = None, remarks: Sequence[str] = ()) -> str:
    """Return the report of a release as one HTML page.

    The same release always gives the same page. It includes an `explorer_page.section` and `Release.remarks`, if given.
    """
    check_installed()
    with written_in(release.language):
        return _page(release, explorer, remarks)


def _page(release: "Release", explorer: Html | None, remarks: Sequence[str]) -> str:
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
                say("appendix.title"),
                tag("h3", say("appendix.query")),
                _code(facts["query"]),
                _compared(release),
                _steps(facts["steps"]),
                _again(release),
                class_="appendix",
            ),
        ),
    ]
    title = release.captions.title or f"{_question(facts)} – {facts['table']}"
    extras = () if explorer is None else (explorer_page.policy(), explorer_page.looks())
    return document(title, body, say("page.from_release"), *extras)


def _head(release: "Release") -> Html:
    facts, captions = release.facts, release.captions
    source = say("head.source", source=captions.source) if captions.source else ""
    about = [*filter(None, (source, captions.footnote)), *imprint(captions)]
    count = sum(len(term.cells) for term in read_terms(release))
    return heading(
        of_table(facts["table"]),
        captions.title or _question(facts),
        tag("p", say("head.lead", count, count=plain(count)), class_="lead"),
        *(tag("p", text, class_="small") for text in about),
    )


def imprint(captions: Captions) -> list[str]:
    """Return a line with date, next release, contact and licence, if there are any."""
    said = [say(f"head.{name}", text=dated(text)) for name in _DATES if (text := getattr(captions, name))]
    return [" · ".join(said)] if said else []


def _question(facts: Mapping[str, Any]) -> str:
    text = str(facts["query"])
    terms = text.split("; ")
    if len(text) <= _LETTERS:
        return text
    return say("head.shortened", text=text[:_LETTERS].rpartition(";")[0] or text[:_LETTERS], count=len(terms))


def warnings(facts: Mapping[str, Any]) -> Html:
    """Return warnings about a seeded release or an in-memory ledger."""
    said, seed = [], facts.get("research_seed")
    if seed is not None:
        said.append(("warning.seeded", "warning.seed"))
    if facts.get("account", {}).get("durable") is False:
        said.append(("warning.memory", "warning.lost"))
    return join(
        tag("p", tag("strong", say(title)), f" {say(text, seed=seed)}", class_="warning", role="note")
        for title, text in said
    )


def _protected(release: "Release") -> Html:
    facts = release.facts
    return titled(
        say("privacy.title"),
        _three_facts(release),
        tag("h3", say("privacy.who")),
        tag("p", words.neighbours(facts["unit"])),
        tag("h3", say("privacy.rules")),
        listing(rules(facts, release.captions, release.terms)) if facts["rules"] else tag("p", say("privacy.no_rules")),
    )


def _three_facts(release: "Release") -> Html:
    facts, unit = release.facts, release.facts["unit"]
    guarantee = release.guarantee
    request = from_dict(facts["asked"])
    exactly = [tag("p", said, class_="small") for said in words.in_detail(guarantee)]
    sharper = say("privacy.requested", request=words.symbol(request))
    return tag(
        "div",
        fact(
            say("privacy.guaranteed"),
            _symbol(guarantee, request),
            tag("p", words.guaranteed(guarantee, unit)),
            tag("p", words.best_guess(guarantee, unit)),
            tag("p", sharper, class_="small") if words.symbol(request) != words.symbol(guarantee) else "",
            tag("details", tag("summary", say("privacy.in_detail")), *exactly) if exactly else "",
        ),
        spent(facts),
        fact(
            say("privacy.how_exact"),
            say(f"exactness.{release.exactness}"),
            tag("p", words.exactness(release.exactness)),
            tag("p", words.verified(facts), class_="small"),
        ),
        class_="facts",
    )


def _symbol(guarantee: Guarantee, request: Guarantee) -> str:
    """Return the guarantee as a formula, the requested one if necessary."""
    formula = words.symbol(guarantee)
    if formula != rounded_up(guarantee):
        return formula
    return say("privacy.formula", request=words.symbol(request), formula=formula)


def spent(facts: Mapping[str, Any]) -> Html:
    """Return the box with the cost of a release."""
    if "account" not in facts:
        return fact(say("privacy.spent"), say("privacy.unknown"), tag("p", say("privacy.no_account")))
    balance = facts["account"]
    return fact(say("privacy.spent"), words.amount(balance["charged"]), account(balance))


def _compared(release: "Release") -> Html:
    facts, offers = release.facts, release.facts["candidates"]
    mechanism = facts["mechanism"]
    if not offers:
        key = "appendix.of_release" if "derived" in facts else "appendix.own"
        text = say(key, name=mechanism["name"], noise=_noise(mechanism["noise"]))
        return join([tag("h3", say("appendix.compared")), tag("p", text)])
    largest = max(offer["error"] for offer in offers)
    # The interval of the answer with the most noise is that of a sum behind a mean, which nobody sees.
    widths = _WIDTHS if all(estimate.is_plain or estimate.ends for estimate in release.estimates) else ()
    explained = ["offers", *["widths"] * bool(widths), *["beside_ranks"] * bool(mechanism.get("has_ranks"))]
    if mechanism.get("in_rows"):
        explained = ["in_ranks"]
    bound = (facts.get("lower_bound") or {}).get("words")
    heads = ("mechanism", "error", *widths, "guarantee", "exactness", "noise")
    parts = (
        tag("h3", say("appendix.compared")),
        _chosen(release),
        tag("p", " ".join(map(translated, re.split(r"(?<=\.) ", bound))) if bound else say("appendix.no_bound")),
        table(
            say("appendix.candidates"),
            [say(f"appendix.{head}") for head in heads],
            (_offer(offer, largest, widths) for offer in offers),
            class_="offers",
        ),
        tag("p", " ".join(say(f"appendix.{key}") for key in explained), class_="small"),
    )
    return join(parts)


def _chosen(release: "Release") -> Html:
    """Return why the mechanism was chosen; if it has parts, why those of the tables were."""
    name, reason = release.facts["mechanism"]["name"], release.facts["reason"]
    names, reasons = name.split(" + "), reason.split(". ")
    if len(names) != len(reasons) or len(names) == 1:
        name, reason = _choice(name, reason)
        return tag("p", say("appendix.chosen", name=name, reason=reason))
    titles = {term.text: meaning(term, release.captions) for term in release.terms}
    shown = {term.text for term in read_terms(release)}
    tables: dict[tuple[str, str], list[str]] = {}  # titles, by the choice
    for name, (text, _, why) in zip(names, (part.partition(": ") for part in reasons), strict=True):
        first = text.split("; ")[0]
        if first in shown:
            tables.setdefault(_choice(name, why), []).append(say("lists.quoted", text=titles.get(first, text)))
    said = [
        say("appendix.chosen_for", len(at), tables=listed(at), name=name, reason=reason)
        for (name, reason), at in tables.items()
    ]
    has_others = sum(map(len, tables.values())) < len(names)
    return listing([*said, *[say("appendix.chosen_behind")] * has_others])


def _choice(name: str, reason: str) -> tuple[str, str]:
    """Return the name of a mechanism and why it was chosen, in words; the errors of others are in the table."""
    return _BETWEEN_WORDS.sub("-", name), translated(reason.partition(" (against ")[0])  # "Rank-Verified"


def _noise(described: str) -> str:
    """Return the description of noise, part by part."""
    return "; ".join(map(translated, described.split("; ")))


def _offer(offer: Mapping[str, Any], largest: float, widths: Sequence[str]) -> list[str]:
    share = 100 * offer["error"] / largest if largest > 0 else 0.0
    bar = tag("span", class_="bar chosen" if offer["chosen"] else "bar", style=f"width:{share:.1f}%")
    badge = [tag("span", say("appendix.badge"), class_="badge")] * bool(offer["chosen"])
    name = join([offer["mechanism"], *badge], " ")
    shown = [f"± {short(offer[f'{key}_95'])}" for key in widths]
    error = join([short(offer["error"]), tag("span", bar, class_="track", aria_hidden="true")])
    guarantee = words.amount(offer["guarantee"])
    return [name, error, *shown, guarantee, say(f"exactness.{offer['exactness']}"), _noise(offer["noise"])]


def _steps(runs: list[list[Any]]) -> Html:
    """Return the number of released values for each step."""
    counts: dict[str, int] = {}
    for count, step in runs:
        counts[str(step)] = counts.get(str(step), 0) + int(count)
    written = {step: plain(int(step)) if step.isdigit() else step for step in counts}
    lines = [say("appendix.step", count, count=plain(count), step=written[step]) for step, count in counts.items()]
    lines = lines[:12] + [say("appendix.more_steps", count=plain(len(lines) - 12))] * (len(lines) > 12)
    return join([tag("h3", say("appendix.steps")), tag("p", say("appendix.about_steps")), listing(lines)])


def _again(release: "Release") -> Html:
    facts, balance = release.facts, release.facts.get("account", {})
    items: list[tuple[str, str]] = [(say("appendix.digest"), tag("code", facts["digest"]))]
    checks: list[str] = []
    if balance:
        items.append((say("appendix.entry"), str(balance["entry"])))
        items.append((say("appendix.tip", entry=balance["entry"]), tag("code", balance["tip"])))
        checks = [tag("h4", say("appendix.verify")), _code(f"gaugedp ledger verify LEDGER --tip {balance['tip']}")]
    lines = [join([tag("dt", name), tag("dd", value)]) for name, value in items]
    parts = (
        tag("h3", say("appendix.reproduce")),
        tag("p", say("appendix.computed" if "derived" in facts else "appendix.again")),
        *_commands(release),
        *checks,
        tag("h4", say("appendix.identifiers")),
        tag("dl", *lines, class_="names"),
    )
    return join(parts)


def _commands(release: "Release") -> list[Html]:
    """Return the commands that repeat the request.

    Those of a publication name its file, which divides the guarantee; statistics of a release are computed again.
    """
    if "derived" in release.facts:
        against = " --against EARLIER" * bool(release.facts["derived"].get("earlier"))
        line = f"gaugedp derive RELEASE{against} --query {shlex.quote(release.facts['query'])}"
        return [tag("h4", say("appendix.command")), _code(line)]
    if release.captions.terms:
        line = "gaugedp publish PUBLICATION.toml --ledger LEDGER --out FOLDER"
        return [tag("h4", say("appendix.command")), _code(line)]
    return [_command(release.facts), tag("h4", say("appendix.python")), _code(_python(release.facts))]


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
    return join([tag("h4", say("appendix.command")), _code(line)])


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
