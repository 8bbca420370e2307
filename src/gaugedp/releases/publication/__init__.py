"""Publications: tables described in one file and answered together."""
