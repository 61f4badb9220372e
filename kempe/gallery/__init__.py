"""The papers' mechanisms and a few others, ready to run, and the papers' studies."""
