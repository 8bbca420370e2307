"""PostgreSQL: its own tables, where they are."""

from gaugedp.tables.postgres.engine import ServerTable

__all__ = ["ServerTable"]
