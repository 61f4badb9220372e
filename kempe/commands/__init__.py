"""Commands: the work of each command, as a function that returns results and one that shows them."""
