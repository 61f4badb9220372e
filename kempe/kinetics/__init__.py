"""Kinetics: accelerations, efforts and reactions of a mechanism at states, by the chosen formulation."""
