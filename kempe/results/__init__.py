"""What a run leaves behind: named histories, files of them, plots, and how it ended."""
