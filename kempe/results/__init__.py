"""Results: the histories of a run by name, with files, plots, and how the run ended."""
