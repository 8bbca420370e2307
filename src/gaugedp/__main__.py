"""Run the command line by `python -m gaugedp`."""

from gaugedp.cli.main import main

if __name__ == "__main__":
    main()
