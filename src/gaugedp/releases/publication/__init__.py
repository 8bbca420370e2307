"""Publications: tables that are described in one file, answered together, and written to one folder."""
