"""Targets: each file says how arguments reach the emitted code, and nothing about operations."""
