"""Integrate: compiled loops over steps, with error control, dense output and events; independent of mechanisms."""
