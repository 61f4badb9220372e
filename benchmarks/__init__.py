"""Kempe's speed, measured side by side in one run; ratios are the result."""
