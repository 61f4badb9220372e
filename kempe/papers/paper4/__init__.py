"""Paper 4: its study, runs and figures."""
