"""`gaugedp publish`: all tables of a publication, for one charge."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

import click

from gaugedp._internal.language import checked
from gaugedp.cli.output import checked_key, handed_over, save, show_account, stored_before
from gaugedp.cli.shared import Payment, check_apart, check_files, language_option, payment_options, show_table
from gaugedp.cli.stage import stage
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import UNTOUCHED, GaugedpError, InvalidRequest
from gaugedp.guarantees.parse_guarantee import chargeable
from gaugedp.guarantees.printed import rounded_up
from gaugedp.ledger import Ledger
from gaugedp.releases.planning import Plan
from gaugedp.releases.publication.correction import Correction
from gaugedp.releases.publication.folder import check_folder, check_place, titled, write_folder
from gaugedp.releases.publication.proposal import Proposal, widths
from gaugedp.releases.publication.publication import Publication
from gaugedp.releases.releasing import release
from gaugedp.releases.sampling_error import TOTAL
from gaugedp.releases.tidy.in_words import apart
from gaugedp.tables.table import Table

_TOGETHER = (
    "To make all tables add up, request their terms in one table. Or give them the same consistent, non_negative and "
    'round, and count rows without a value in a cell of their own (outside = "other" in the domain file).'
)


@click.command()
@click.argument("publication")
@payment_options("the table", required=False)
@click.option("--table", metavar="FILE", help="Table to read, instead of the one named in the publication file.")
@click.option("--out", metavar="FOLDER", help="Folder to write: a page, one file per table and a manifest.")
@click.option("--supersedes", metavar="FOLDER", help="Earlier published folder that this publication corrects.")
@click.option("--reason", metavar="TEXT", help="What was wrong with the superseded publication, for the erratum.")
@language_option
@click.option("--propose", metavar="FILE", help="Write the plan and its charge, for approval. Charges nothing.")
@click.option("--approve", metavar="NAME", help="Approve PUBLICATION, a proposal, as a second person with this name.")
@click.option("--approval", metavar="FILE", help="Approved proposal of this publication, if the ledger requires one.")
@click.option("--dry-run", is_flag=True, help="Only show the cost and precision of each table. No row is read.")
@click.option("--check", "compare", is_flag=True, help="Only compare the folder PUBLICATION with its manifest.")
def publish(
    publication: str,
    payment: Payment,
    table: str | None,
    out: str | None,
    supersedes: str | None,
    reason: str | None,
    language: str | None,
    dry_run: bool,
    compare: bool,
    **approvals: str | None,
) -> None:
    """Publish all tables that a publication file describes.

    Use it for a set of tables that belong together, such as a yearly report. PUBLICATION is a .toml file (see
    docs/how-to/publish.md). All tables are answered together, for one charge.

    Example: gaugedp publish people.toml --ledger people.ledger --budget 3 --out published
    """
    if compare or approvals["approve"] is not None:
        _check(publication) if compare else _approve(publication, str(approvals["approve"]))
        return
    document = Publication.load(publication)
    document = titled(document if language is None else replace(document, language=checked(language)))
    correction = None if supersedes is None else Correction.of(supersedes, reason, document)
    document = document if correction is None else correction.announced(document)
    if document.key is None and not dry_run:
        raise InvalidRequest(
            "The publication file has no `key`, under which the ledger stores the publication.",
            'Add a line such as key = "spring report" to the file; repeating the publication then costs nothing.',
        )
    stage.key = checked_key(document.key)
    stage.show("plan")
    planned = document.plan()
    document.check_steps(planned.query)
    _show(document, planned)
    if dry_run:
        click.echo("Nothing was read and nothing was spent.")
        return
    ledger_path = _required("--ledger", payment.ledger)
    if approvals["propose"] is not None:
        _propose(publication, document, planned, payment, (table, approvals["propose"]))
        return
    out = _required("--out", out)
    source = Table.scan(
        _required("--table", table or (None if document.data is None else str(document.data))),
        domain=document.domain,
    )
    check_apart({"publication": publication, "ledger": ledger_path}, {"out": out})
    check_place(document, planned.query.digest(), out)
    payment.check(chargeable(planned.mechanism.guarantee, planned.requested), planned.requested)

    def proposed(account: Ledger, options: Mapping[str, str | None]) -> Proposal:
        return Proposal.of(publication, document, planned, account, {**options, "table": table})

    if correction is not None:  # before a ledger is created
        correction.check(ledger_path)
    account = _account(payment, (source.name, planned.unit), approvals["approval"], proposed)
    _publish(document, planned, source, account, (out, correction))


def _account(
    payment: Payment, rows: tuple[str, PrivacyUnit], approval: str | None, proposed: Callable[..., Proposal]
) -> Ledger:
    """Return the ledger for a table and its unit, with the approval of what is `proposed` now, if there is one."""
    if approval is None:
        account = payment.open(*rows)
        if account.requires_approval:  # also for a folder that costs nothing
            raise InvalidRequest(
                "The ledger accepts only approved publications, but --approval is missing.",
                "Add --approval FILE, with the approved proposal.",
            )
        return account
    approved = Proposal.load(approval)
    Ledger.open(payment.ledger)  # refuses one that does not exist
    signed = {"by": payment.by or approved.facts["author"], "purpose": payment.purpose or approved.facts.get("purpose")}
    account = payment.open(*rows)
    return account.signed(**signed, approval=approved.approval(proposed(account, signed)))


def _propose(
    path: str, publication: Publication, planned: Plan, payment: Payment, files: tuple[str | None, str]
) -> None:
    table, out = files
    check_files({"publication": path, "ledger": payment.ledger}, propose=(out, ".json"))
    options = {"by": payment.by, "purpose": payment.purpose, "table": table}
    proposal = Proposal.of(path, publication, planned, Ledger.open(payment.ledger), options)
    save(out, proposal.save)
    click.echo(f"Wrote {out}: a second person approves it with gaugedp publish {shlex.quote(out)} --approve NAME")
    click.echo(UNTOUCHED)


def _approve(path: str, name: str) -> None:
    proposal = Proposal.load(path).approve(name)
    charge, tables = proposal.shown()
    show_table(charge, "Proposal")
    show_table(tables, "Tables")
    save(path, proposal.save)
    click.echo(f"Approved by {proposal.approved_by}. {UNTOUCHED}")


def _publish(
    publication: Publication, planned: Plan, source: Table, account: Ledger, target: tuple[str, Correction | None]
) -> None:
    out, correction = target
    answer = release(
        planned.query,
        source,
        ledger=account,
        planned=planned,
        key=stage.key,
        on_stage=stage.follow,
        on_progress=stage.draw,
    )
    was_stored = stage.was_stored
    answer = publication.finished(answer, planned.query)
    stage.show("write")
    with handed_over("answer"):
        erratum = None if correction is None else correction.facts(publication, answer)
        was_there = write_folder(publication, answer, out, erratum)
    click.echo(f"{out} existed already and is identical." if was_there else f"Wrote {out}: open index.html.")
    if was_stored:
        click.echo(stored_before("answer", answer.facts["account"]))
    show_account(answer.facts["account"], account if was_stored else None, "Run it again to get the same at no cost.")


def _show(publication: Publication, planned: Plan) -> None:
    terms = widths(publication, planned)
    parts = zip(publication.tables, publication.queries, publication.shares(planned.unit), strict=True)
    rows = [
        {
            "table": table.title,
            "share": f"{100 * float(share):.3g} %",
            "answers": question.n_answers,
            "95 % intervals": ", ".join(f"{text} {terms[text]}" for text, _ in question.labels.terms),
        }
        for table, question, share in parts
    ]
    for remark in planned.remarks():
        click.echo(remark)
    if said := apart(publication.agreement(planned.query), publication.domain.captions, planned.query.outlines):
        click.echo(f"{said} {_TOGETHER}")
    if publication.intervals == TOTAL:
        click.echo("The widths below are those of the noise. Published intervals also contain the sampling error.")
    show_table(rows, f"{publication.title}: {len(rows)} tables for at most {rounded_up(planned.requested)}")


def _check(folder: str) -> None:
    wrong = check_folder(folder)
    if wrong:
        raise GaugedpError("The folder does not match its manifest: " + " ".join(wrong), "Publish again.", "")
    click.echo(f"{folder} matches its manifest.")


def _required(option: str, value: str | None) -> str:
    if value is None:
        raise InvalidRequest(f"The option {option} is required but missing.", f"Add {option}.")
    return value
