"""One number has one printed form: on the screen, in the report, in the account of the ledger."""

import re
from fractions import Fraction

import pytest

from gaugedp.guarantees import Filter, GaussianDP, PureDP, RenyiBudget
from gaugedp.ledger import Ledger
from tests.cli.kit import Desk

MIXED = "SEX; mean(PAY) by AGE; sum(PAY)"


def screen(out: str) -> list[list[str]]:
    """The texts of estimate, lower and upper in each row of the answers."""
    table = out[out.index("estimate") : out.index("Protected")].splitlines()[1:]
    rows = [line.split()[-3:] for line in table]  # remarks may follow
    return [row for row in rows if all(re.fullmatch(r"-?[0-9][0-9.,]*", text) for text in row)]


def page(text: str) -> list[list[str]]:
    """The same from the tables of the report and its single numbers, in their order, with plain signs."""
    row = r'<th scope="row">[^<]*</th><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td>'
    single = r"<strong>([^<]*)</strong>[^<]* interval[^<]*: (\S*) to ([^<]*)</p>"
    results = [[each for each in groups if each] for groups in re.findall(f"{row}|{single}", text)]
    return [[each.replace("−", "-") for each in groups] for groups in results]


@pytest.mark.slow
@pytest.mark.parametrize("question", [MIXED, "quantiles(PAY, 0.25, 0.5) by SEX"])
def test_the_report_shows_the_numbers_of_the_screen(desk: Desk, question: str) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
    done = desk.release(query=question, report="report.html", epsilon="1.3")
    assert done.code == 0, done.err
    shown = screen(done.out)
    assert len(shown) > 3
    assert page((desk.folder / "report.html").read_text("utf-8"))[: len(shown)] == shown


def test_a_question_has_one_number_of_decimals(desk: Desk) -> None:
    rows = screen(desk.release(query="mean(PAY) by AGE").out)
    assert len({len(text.partition(".")[2]) for row in rows for text in row}) == 1


def test_the_ends_on_the_screen_are_rounded_outwards(desk: Desk) -> None:
    done = desk.release(query=MIXED, save="release.json")
    from gaugedp.releases.answer import Release

    low, high = Release.from_json((desk.folder / "release.json").read_text("utf-8")).interval(0.95)
    for (_, lower, upper), least, most in zip(screen(done.out), low, high, strict=True):
        assert Fraction(lower.replace(",", "")) <= Fraction(float(least))
        assert Fraction(float(most)) <= Fraction(upper.replace(",", ""))


def test_digits_of_a_budget_are_few_and_on_their_side(desk: Desk) -> None:
    done = desk.release(query="median(PAY)", rho="0.02", epsilon=None, ledger="rho.ledger", budget="rho=0.1")
    assert "; ZCDP(0.08) is left." in done.out
    assert "Spent ZCDP(0.02) of ZCDP(0.1)" in done.out
    assert not re.search(r"\(0\.\d{7,}", done.out + desk.gaugedp("ledger", "show", "rho.ledger").out)
    ledger = desk.ledger("rho.ledger")
    assert ledger.spent.rho <= 0.02
    assert ledger.remaining.rho >= 0.08


def test_a_budget_by_the_best_order_prints_one_sum(desk: Desk) -> None:
    opened = desk.gaugedp("ledger", "open", "best.ledger", "--budget", "best=4,1e-6")
    assert opened.out.startswith("best.ledger: budget RenyiBudget(4, 1e-06), epsilon ")
    done = desk.release(ledger="best.ledger")
    account = r"Spent epsilon ([\d.]+) of RenyiBudget\(4, 1e-06\); epsilon ([\d.]+) is left\."
    spent, left = re.findall(account, done.out)[0]
    assert Fraction(spent) + Fraction(left) == 4
    shown = desk.gaugedp("ledger", "show", "best.ledger").out
    assert f"Budget RenyiBudget(4, 1e-06); spent epsilon {spent}; left epsilon {left}\n" in shown
    assert "total" not in shown
    assert "room" not in done.out + shown
    requested = desk.gaugedp("ledger", "show", "best.ledger", "--delta", "1e-6").out
    assert "If all guarantees were fixed in advance, the total is epsilon 0.5 at delta 1e-06." in requested
    refused = desk.release(ledger="best.ledger", epsilon="5")
    assert f"; epsilon {left} of RenyiBudget(4, 1e-06) is left in 'best.ledger'." in refused.err


def test_a_fit_prints_the_sum_of_a_release(desk: Desk) -> None:
    done = desk.gaugedp(
        *("fit", "people.csv", "--domain", "domain.toml", "--model", "linear", "--target", "PAY", "--features", "SEX"),
        *("--epsilon", "0.5", "--ledger", "best.ledger", "--budget", "best=4,1e-6"),
    )
    assert done.code == 0, done.err
    assert re.search(r"Spent epsilon [\d.]+ of RenyiBudget\(4, 1e-06\); epsilon [\d.]+ is left\.", done.out)


def test_in_python_a_best_order_has_something_left_where_it_begins() -> None:
    ledger = Ledger.in_memory(RenyiBudget(4, 1e-6))
    assert min(ledger.remaining.values) > 0
    assert ledger.affords(ledger.remaining)
    assert not ledger.affords(PureDP(4.5))
    assert "epsilon 0" in repr(ledger)
    assert ": 0," not in repr(Filter(RenyiBudget(4, 1e-6)).remaining)


def test_the_intervals_of_quantiles_are_said_to_hold_at_their_level(desk: Desk) -> None:
    requested = "quantiles(PAY, 0.25, 0.5, level=0.99)"
    title = desk.release(query=requested).out.splitlines()[0]
    assert title.startswith("Answers with 99 % intervals (PureDP(0.5), in detail ")
    assert "simultaneous" not in title, "each holds alone"
    assert "95 % intervals" in desk.release(query="median(PAY)").out.splitlines()[0]
    assert "simultaneous" not in desk.release(query="SEX").out.splitlines()[0]


def test_a_bound_that_was_typed_is_printed_as_it_was_typed(desk: Desk) -> None:
    plan = ["plan", "--domain", "domain.toml", "--query", "SEX", "--mu"]
    assert "Guarantee: GaussianDP(0.12345)\n" in desk.gaugedp(*plan, "0.12345").out
    assert "Guarantee: GaussianDP(0.1235)\n" in desk.gaugedp(*plan, "0.12345678").out
    assert repr(GaussianDP(0.12345678)) == "GaussianDP(0.12345678)"
