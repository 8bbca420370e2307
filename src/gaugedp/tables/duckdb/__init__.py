"""DuckDB: files, frames and its own relations."""
