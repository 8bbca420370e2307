"""Private completion of a table of ratings."""
