"""``python -m dodiag`` is the command line."""

from dodiag.cli import main

main()
