"""Agreement: accelerations and efforts of all peers beside Kempe's at common states, which comes before any timing."""

from collections.abc import Iterable, Iterator

import numpy as np

from benchmarks.mechanisms import Case
from benchmarks.ours import Ours
from benchmarks.peers import peers_of
from benchmarks.rows import Row

NEAR = 1e-6  # of the largest acceleration


def agreement(cases: Iterable[Case]) -> Iterator[Row]:
    """A row for every function of every peer, and sentences on what they do not have."""
    lacking: dict[str, None] = {}
    for case in cases:
        q, v, tau = case.given
        ours = Ours(case.model, "forward_dynamics", q, v, tau).result
        peers, sentences = peers_of(case.model)
        yield Row(f"{case.name}: largest acceleration, largest gap of a loop", f"{largest(ours):.3g}, {_gap(case):.0e}")
        for peer in peers:
            for name, found, why in forward(peer, q, v, tau):
                yield _compared(f"  {name}, accelerations apart by", apart(found, ours), why)
            for way in peer.inverse:
                a = accelerations(case)
                efforts = Ours(case.model, "generalized_forces", q, v, a).result
                yield _compared(f"  {way.name}, efforts apart by", apart(way.result(q, v, a), efforts), way.apart)
            if case.closed:
                yield Row(f"  {peer.name}, gap of loops as it sees them", f"{peer.residual(q):.0e} m")
        lacking |= dict.fromkeys((*sentences, *(x for peer in peers for x in peer.lacks)))
    for sentence in lacking:
        yield Row(sentence, "")


def forward(peer, q, v, tau) -> Iterator[tuple[str, np.ndarray, str]]:
    """Accelerations by all ways a peer has, with their names and why they may differ."""
    for way in peer.forward:
        yield way.name, way.result(q, v, tau), way.apart
    if not peer.forward:
        yield peer.name, peer.accelerations(q, v, tau), ""


def accelerations(case: Case) -> np.ndarray:
    """Some, to work out efforts for."""
    return np.random.default_rng(1).normal(size=case.model.nv)


def apart(found: np.ndarray, ours: np.ndarray) -> float:
    """The largest difference beside the largest number."""
    return float(np.abs(found - ours).max() / np.abs(ours).max())


def largest(x: np.ndarray) -> float:
    """By its size."""
    return float(np.abs(x).max())


def _gap(case: Case) -> float:
    return largest(case.model.residual(case.given[0])) if case.closed else 0.0


def _compared(what: str, off: float, why: str) -> Row:
    if off > NEAR and why:
        return Row(what, f"{off:.0e}: {why}")
    return Row(what, f"{off:.0e}", f"at most {NEAR:.0e}", off <= NEAR)
