"""Runs: integrators, torque laws, events, and the loop around them."""
