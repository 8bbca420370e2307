"""DuckDB: files, frames and DuckDB relations."""
