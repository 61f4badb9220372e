"""Integrators: compiled loops over steps, with error control, dense output and events; they know no mechanism."""
