"""Simulate: runs, fixed steps, switching, events and motions."""
