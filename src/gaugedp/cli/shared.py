"""Options and number formats shared by the commands."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from gaugedp._internal.files import check_ending
from gaugedp._internal.names import parts
from gaugedp._internal.numbers import digits_up, readable
from gaugedp._internal.validate import one_of
from gaugedp._internal.visible import visible
from gaugedp.cli.commands import without_password
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.errors import UNTOUCHED, InvalidRequest
from gaugedp.guarantees import ApproxDP, Budget, Guarantee, PureDP, RenyiBudget
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.ledger import Ledger
from gaugedp.ledger.signature import Signature
from gaugedp.queries import Query, query, with_sampling_error
from gaugedp.releases.sampling_error import NOISE, TOTAL

Command = TypeVar("Command", bound=Callable[..., Any])

_FOLDED = ("query", "cell", "guarantee", "by", "purpose", "examples", "words", "seen")  # a narrow screen breaks them
SHOWN = 60  # lines of a table on the screen; all are in the file that is written


language_option = click.option("--language", metavar="CODE", help="Language of pages and notes: en, de, fr, es or sl.")


def guarantee_options(command: Command) -> Command:
    """Add --epsilon, --delta, --rho and --mu."""
    for name, text in (
        ("mu", "Privacy parameter mu of Gaussian differential privacy, instead of --epsilon."),
        ("rho", "Privacy parameter rho of zero-concentrated differential privacy, instead of --epsilon."),
        ("delta", "Privacy parameter delta, used with --epsilon. [default: 0, which is pure differential privacy]"),
        (
            "epsilon",
            "Privacy parameter epsilon: the data of one unit changes the probability of any answer by at most a factor "
            "of e^epsilon (plus delta). Smaller values protect more.",
        ),
    ):
        command = click.option(f"--{name}", metavar="NUMBER", help=text)(command)
    return command


def question_options(command: Command, required: bool = True) -> Command:
    """Add --domain and --query."""
    examples = (
        'What to publish, such as "SEX; AGEP; SEX*AGEP", "sum(PINCP); mean(PINCP) by SEX", "median(PINCP) by SEX" or '
        '"count".'
    )
    query = click.option("--query", "text", required=required, metavar="TEXT", help=examples)
    domain = click.option(
        "--domain", "domain_path", required=required, metavar="FILE", help="Domain file (.toml) of the table."
    )
    return domain(query(command))


def budget_option(command: Command) -> Command:
    """Add --budget."""
    text = (
        'Budget of a ledger that does not exist yet: "2" (epsilon), "3,1e-5" (epsilon, delta), "rho=0.5", "mu=1", or '
        '"best=2,1e-6" (Renyi curves). The budget of an existing ledger cannot be changed.'
    )
    return click.option("--budget", "budget_text", metavar="B", help=text)(command)


def signature_options(command: Command) -> Command:
    """Add --by and --purpose."""
    for name, metavar, text in (
        ("purpose", "TEXT", "Purpose of the request, in one line. The ledger stores it, and it is public."),
        ("by", "NAME", "Person who makes the request, in one line. The ledger stores the name, and it is public."),
    ):
        command = click.option(f"--{name}", metavar=metavar, help=text)(command)
    return command


@dataclass(frozen=True)
class Payment:
    """Ledger, opening budget and signature of a charge."""

    ledger: str
    budget: Guarantee | None
    by: str | None
    purpose: str | None

    @classmethod
    def of(cls, ledger: str, budget_text: str | None, by: str | None, purpose: str | None) -> "Payment":
        """Return the payment that the options describe; see `budget`."""
        return cls(ledger, budget(budget_text), by, purpose)

    def check(self, charges: Sequence[Guarantee], requested: Guarantee | None = None) -> None:
        """Refuse charges that the budget cannot express, before opening it."""
        if self.budget is not None:
            Budget(self.budget).charge(*charges)
        if requested is not None:
            remark_on_delta(requested, self.budget)

    def open(self, table: str, unit: PrivacyUnit) -> Ledger:
        """Return the signed ledger; announce a new one."""
        Signature.checked(self.by, self.purpose)
        account = Ledger.open(self.ledger, self.budget, table=table, unit=unit)
        if account.is_new:
            path = without_password(self.ledger)
            click.echo(f"Opened a new ledger {path!r} with a budget of {account.budget!r}.", err=True)
        return account.signed(by=self.by, purpose=self.purpose)


def payment_options(tables: str = "the table", required: bool = True) -> Callable[[Command], Command]:
    """Add --ledger, --budget, --by and --purpose, passed on as `payment`."""

    def added(command: Command) -> Any:
        @wraps(command)
        def paying(ledger_path: str, budget_text: str | None, by: str | None, purpose: str | None, **rest: Any) -> Any:
            return command(payment=Payment.of(ledger_path, budget_text, by, purpose), **rest)

        text = f"Ledger to charge. It records everything that was spent on {tables}."
        ledger = click.option("--ledger", "ledger_path", required=required, metavar="FILE", help=text)
        return ledger(budget_option(signature_options(paying)))

    return added


def processing_options(command: Command) -> Any:
    """Add --consistent, --non-negative and --round, passed on as `steps`."""

    @wraps(command)
    def processing(consistent: bool, non_negative: bool, rounded: bool, base: str | None, **rest: Any) -> Any:
        options = {"consistent": consistent, "non_negative": non_negative, "rounded": rounded}
        steps = [name for name, is_on in options.items() if is_on]
        to_base = [] if base is None else [f"rounded to {whole_number('--round-to', base)}"]
        return command(steps=[*steps, *to_base], **rest)

    text = "Round counts to multiples of BASE, such as 5, at no cost. With --consistent, tables still add up."
    processing = click.option("--round-to", "base", metavar="BASE", help=text)(processing)
    for name, text in (
        ("rounded", "Round counts to integers, at no cost. With --consistent, tables of moderate size still add up."),
        ("non_negative", "Set negative counts to 0, at no cost. With --consistent, tables of moderate size add up."),
        ("consistent", "Make overlapping tables add up, by least squares, at no cost. Intervals do not change."),
    ):
        flag = "--round" if name == "rounded" else f"--{name.replace('_', '-')}"
        processing = click.option(flag, name, is_flag=True, help=text)(processing)
    return processing


def importance_option(command: Command) -> Command:
    """Add --importance."""
    text = 'Weights of the terms in the total error, such as "REGION=100; DISTRICT*SEX=10". [default: 1 for each term]'
    return click.option("--importance", metavar="TEXT", help=text)(command)


def intervals_option(command: Command) -> Command:
    """Add --intervals."""
    text = "Errors that intervals cover: noise, or total (adds the sampling error of weighted terms). [default: noise]"
    return click.option("--intervals", default=NOISE, metavar="WHICH", help=text)(command)


def weighted_query(domain: Domain, text: str, importance: str | None, intervals: str = NOISE) -> Query:
    """Parse a query, set the importance of its terms, and add what total intervals need."""
    question = query(domain, text)
    one_of((NOISE, TOTAL), intervals=intervals)
    if importance is not None:
        pairs = [part.rpartition("=") for part in parts(importance, ";") if part]
        question = question.with_importance({term.strip(): number("importance", times) for term, _, times in pairs})
    return with_sampling_error(question) if intervals == TOTAL else question


def numbers(**texts: str | None) -> dict[str, float | None]:
    """Parse numbers by name, refusing anything else."""
    return {name: None if text is None else number(name, text) for name, text in texts.items()}


def number(name: str, text: str) -> float:
    """Parse a finite number."""
    if _is_number(text):
        return float(text)
    if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text):
        raise InvalidRequest(
            f"`{name}` is {text!r}, which contains a decimal comma.",
            f"Pass a number with a decimal point, such as {text.strip().replace(',', '.')}.",
        )
    raise InvalidRequest(f"`{name}` is {text!r}, which is not a finite number.", "Pass a finite number.")


def whole_number(name: str, text: str) -> int:
    """Parse an integer."""
    value = number(name, text)
    if not value.is_integer():
        raise InvalidRequest(f"`{name}` is {text!r}, which is not an integer.", "Pass an integer.")
    return int(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python would read 1_0 as 10


def budget(text: str | None) -> Guarantee | None:
    """Parse a budget and remark on one that protects little.

    The forms are "2" (ε), "2,1e-6" (ε, δ), "best=2,1e-6" (by Rényi orders), "rho=0.5" and "mu=1".
    """
    if text is None:
        return None
    guarantee = _budget(text)
    remark_on_epsilon("a budget", guarantee)
    remark_on_delta(guarantee)
    return guarantee


def remark_on_epsilon(what: str, guarantee: Guarantee) -> None:
    """Print a remark if ε gives almost no protection."""
    epsilon = _epsilon(guarantee)
    if epsilon > 20.0:
        click.echo(f"Remark: {what} of epsilon = {digits_up(epsilon)} gives almost no protection.", err=True)


def remark_on_delta(guarantee: Guarantee, said: Guarantee | None = None) -> None:
    """Print a remark if δ is large, unless `said` is."""
    if _delta(guarantee) > 1e-3 and (said is None or _delta(said) <= 1e-3):
        click.echo(
            f"Remark: delta is {_delta(guarantee):g}: with that probability the guarantee may fail for a person; "
            "choose it below 1 / (number of people).",
            err=True,
        )


def _delta(guarantee: Guarantee) -> float:
    return guarantee.delta_value if isinstance(guarantee, ApproxDP | RenyiBudget) else 0.0


def _epsilon(guarantee: Guarantee) -> float:
    if isinstance(guarantee, PureDP | ApproxDP | RenyiBudget):
        return guarantee.epsilon_value
    return float(guarantee.epsilon(1e-6))  # the δ at which ρ and μ are read as ε


def _budget(text: str) -> Guarantee:
    name, equals, value = text.partition("=")
    if equals and name.strip() in ("rho", "mu"):
        return guarantee_asked(**{name.strip(): number(name.strip(), value)})
    best = equals and name.strip() == "best"
    epsilon, comma, delta = (value if best else text).partition(",")
    _check_form(text, epsilon, *([delta] if comma or best else []))
    _check_no_decimal_comma(epsilon.strip(), delta.strip())
    if best:
        return RenyiBudget(float(epsilon), float(delta))
    return guarantee_asked(float(epsilon), float(delta) if comma and float(delta) != 0 else None)


def _check_form(text: str, *numbers: str) -> None:
    if not all(_is_number(number) for number in numbers):
        raise InvalidRequest(
            f"{text!r} does not describe a privacy budget.",
            "Pass it as EPSILON or EPSILON,DELTA, such as 2 or 2,1e-6, or as best=2,1e-6, rho=0.5 or mu=1.",
        )


def _check_no_decimal_comma(epsilon: str, delta: str) -> None:
    """Refuse an integer δ, which may be a decimal comma."""
    if re.fullmatch(r"\d+", epsilon) and re.fullmatch(r"\d*[1-9]\d*", delta):
        raise InvalidRequest(
            f"The delta of this budget is {delta}, but must be below 1: a comma separates EPSILON,DELTA.",
            f"Pass a smaller delta, or write {epsilon}.{delta} for a decimal number.",
        )


def load(path: str) -> tuple[Domain, PrivacyUnit]:
    """Return the domain and privacy unit of a file."""
    domain = Domain.load(path)
    return domain, domain.protected()


def show_table(
    rows: Sequence[dict[str, Any]], title: str, numbers: Sequence[str] = (), most: int | None = None
) -> None:
    """Print rows as an aligned table; `numbers` are right-aligned."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    click.echo(visible(title))
    table = Table(box=None, pad_edge=False, header_style="bold")
    numeric = {name for name, value in rows[0].items() if isinstance(value, int | float)} if rows else set()
    numeric.update(numbers)
    lines = [[cell(value) for value in row.values()] for row in rows[:most]]
    needed = 0
    for name, *texts in zip(rows[0] if rows else (), *lines, strict=True):
        justify: Literal["left", "right"] = "right" if name in numeric else "left"
        least = cell_len(name) if name in _FOLDED else max(map(cell_len, (name, *texts)))
        table.add_column(name, justify=justify, no_wrap=name not in _FOLDED, overflow="fold", min_width=least)
        needed += least + 2  # spaces between columns
    for line in lines:
        table.add_row(*line)
    width = Console(file=sys.stdout).width if sys.stdout.isatty() else 200
    # with a height, rich uses the given width on every terminal
    console = Console(file=sys.stdout, markup=False, emoji=False, highlight=False, height=25)
    console.width = max(width, needed)  # rich would silently truncate a wider table
    console.print(table)
    if most is not None and len(rows) > most:
        click.echo(f"... and {len(rows) - most:,} more: write them with --out")


def cell(value: object) -> str:
    """Format a value for display."""
    if isinstance(value, bool):
        return "*" if value else ""
    if isinstance(value, float):
        return readable(value)
    return f"{value:,}" if isinstance(value, int) else visible(str(value))


def check_writable(path: str | None, kind: str) -> None:
    """Refuse an unwritable file or a wrong extension."""
    if path is None:
        return
    try:
        fit = _is_writable(Path(path))
    except OSError:  # such as a name that is too long
        fit = False
    if not fit:
        raise InvalidRequest(f"{path!r} cannot be written.", "Pass a file in an existing folder that you may write to.")
    check_ending(path, kind, UNTOUCHED)


def _is_writable(place: Path) -> bool:
    if place.exists() and not place.is_file():  # a pipe or a device is written as it is, a folder not at all
        return not place.is_dir() and os.access(place, os.W_OK)
    place = place.resolve()
    return (
        place.parent.is_dir()
        and os.access(place.parent, os.W_OK | os.X_OK)
        and (not place.exists() or os.access(place, os.W_OK))
    )


def check_apart(read: dict[str, str], written: dict[str, str | None]) -> None:
    """Refuse an output path that is used twice."""
    roles = {Path(path).resolve(): role for role, path in read.items()}
    for role, path in written.items():
        if path is None:
            continue
        place = Path(path).resolve()
        if place in roles:
            raise InvalidRequest(
                f"--{role} names {path!r}, which is also the {roles[place]}.", "Pass a different path for each file."
            )
        roles[place] = f"file of --{role}"


def check_files(read: dict[str, str], **written: tuple[str | None, str]) -> None:
    """Refuse a ledger in memory and unusable output files (path, kind)."""
    if read.get("ledger") == ":memory:":
        raise InvalidRequest("A ledger in memory is lost when the command ends.", "Pass a file to --ledger.")
    check_apart(read, {role: path for role, (path, _) in written.items()})
    for path, kind in written.values():
        check_writable(path, kind)


def read_text(path: str, what: str) -> str:
    """Return the text of a file, or ask for `what`."""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest(f"{path!r} cannot be read.", f"Pass {what}.") from None
