"""Paper 1: its study, runs and figures."""
