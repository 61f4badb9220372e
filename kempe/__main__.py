"""`python -m kempe` is the command `kempe`."""

from kempe.cli import main

main()
