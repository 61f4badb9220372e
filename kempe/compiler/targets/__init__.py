"""Targets: each file defines how arguments reach the emitted code, and nothing about operations."""
