"""Gallery: mechanisms of the papers and a few others, ready to run, and the studies that reproduce the papers."""
