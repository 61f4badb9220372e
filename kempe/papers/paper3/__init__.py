"""Paper 3: its study, runs and figures."""
