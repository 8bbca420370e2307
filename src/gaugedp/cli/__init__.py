"""The command line: the values of the library, one file a command."""
