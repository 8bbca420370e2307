"""PostgreSQL tables, read on the server."""

from gaugedp.tables.postgres.engine import ServerTable

__all__ = ["ServerTable"]
