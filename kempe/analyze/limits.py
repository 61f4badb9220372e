"""Limits: whether the joints of a state keep theirs, and the nearest coordinates that do."""

import numpy as np

from kempe.model.model import Model


def beyond_limits(model: Model, q: np.ndarray) -> str:
    """Joints that are beyond their limits."""
    found = [limit for limit in model.limits if not limit.low <= q[limit.q] <= limit.high]
    return ", ".join(f"{x.name} = {q[x.q]:.6g} (limits {x.low:g} to {x.high:g})" for x in found) or "other joints"


def within_limits(model: Model, q: np.ndarray) -> np.ndarray:
    """The nearest coordinates that keep all limits."""
    out = q.copy()
    for limit in model.limits:
        out[limit.q] = min(max(out[limit.q], limit.low), limit.high)
    return out


def keeps_limits(model: Model, given: tuple[str, ...], q: np.ndarray) -> bool:
    """Whether joints whose values were not given keep theirs."""
    kept = 1e-9 * model.equations.closure_size
    asked = (limit for limit in model.limits if limit.name not in given)
    return all(limit.low - kept <= q[limit.q] <= limit.high + kept for limit in asked)
