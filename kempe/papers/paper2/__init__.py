"""Paper 2: its study, runs and figures."""
