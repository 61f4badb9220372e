"""Paper 5: its study, runs and figures."""
