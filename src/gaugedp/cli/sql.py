"""`gaugedp sql`: answer or translate a SELECT of aggregates."""

from typing import Any

import click

from gaugedp.cli.release import release
from gaugedp.cli.shared import load
from gaugedp.errors import InvalidRequest
from gaugedp.queries.sql import sql_text

_LEDGER = click.Option(["--ledger", "ledger_path"], metavar="FILE", help="Ledger to charge.")


def _sql(statement: str, table: str | None, domain_path: str, ledger_path: str | None, **others: Any) -> None:
    """Publish private answers to a SELECT statement about TABLE.

    TABLE is a .csv, .tsv or .parquet file. The options are those of release. Without TABLE, the command only prints the
    query that corresponds to STATEMENT: nothing is read or spent.

    Example: gaugedp sql "SELECT SEX, COUNT(*), AVG(PINCP) FROM people GROUP BY SEX" --domain domain.toml
    """
    text = sql_text(load(domain_path)[0], statement)
    if table is None:
        click.echo(text)
        return
    if ledger_path is None:
        raise InvalidRequest("The option --ledger is missing, so there is no ledger to charge.", "Pass --ledger FILE.")
    assert release.callback is not None
    release.callback(table=table, domain_path=domain_path, text=text, ledger_path=ledger_path, **others)


sql = click.Command(
    "sql",
    callback=_sql,
    help=_sql.__doc__,
    params=[
        click.Argument(["statement"]),
        click.Argument(["table"], required=False),
        *(
            _LEDGER if option.name == "ledger_path" else option
            for option in release.params
            if option.name not in ("table", "text")
        ),
    ],
)
