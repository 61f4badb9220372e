"""Mechanisms: bodies, markers, joints, couplings and loads as the user describes them."""
