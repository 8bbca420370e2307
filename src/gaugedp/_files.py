"""Names of files that are written."""

from pathlib import Path

from gaugedp.errors import InvalidRequest

_ENDINGS = {
    ".csv", ".tsv", ".json", ".jsonl", ".html", ".toml", ".yaml", ".pdf", ".png", ".docx", ".pkl", ".joblib",
    ".xlsx", ".xls", ".ods", ".parquet", ".feather", ".arrow", ".sav", ".dta", ".zip", ".gz", ".bz2", ".xz", ".zst",
}  # fmt: skip


def check_ending(path: str | Path, kind: str, undone: str = "Nothing was written.") -> None:
    """Refuse a name that guarantees another format than `kind`, such as ".csv"."""
    ending = Path(path).suffix.lower()
    if ending in _ENDINGS and ending != kind:
        raise InvalidRequest(
            f"{str(path)!r} would be no {ending} file: what is written there is {kind.removeprefix('.').upper()}.",
            f"Give a name that ends in {kind}.",
            undone,
        )
