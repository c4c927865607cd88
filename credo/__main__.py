"""python -m credo: the command line."""

from credo.cli import main

main()
