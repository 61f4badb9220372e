"""Iterations: against the kernel called again and again, whatever the lanes, the threads and the way arguments lie."""

import casadi as ca
import numpy as np
import pytest

from kempe.compiler.compose import Composer
from kempe.compiler.iterate import Iteration
from kempe.compiler.kernel import Kernel
from kempe.compiler.threads import spread
from kempe.compiler.trace import trace
from kempe.errors import ProgramError


def _swapping(q, v, u, p):
    """A made-up step: parts of the state change places, so that what is fed back is read before it is written."""
    return {"q": ca.vertcat(v + u[0] * p, q[0]), "v": ca.sin(q[1]) + u[1]}


SHAPES = {"q": 2, "v": (), "u": 2, "p": ()}
STEP = trace(_swapping, SHAPES, {"v": ()}, name="swapping")


def _composed():
    """Two such steps in one, as calls of a block."""
    composer = Composer("twice")
    q, v, u, p = (composer.input(name, shape) for name, shape in {"q": 2, "v": (), "u": 2, "p": ()}.items())
    for _ in range(2):
        q, v = composer.call(STEP, q, v, u, p)
    composer.output("q", q)
    composer.output("v", v)
    return composer.program()


def _by_kernel(program, q, v, u, p, rows, every):
    """The same by single calls."""
    kernel = Kernel(program)
    found_q, found_v = np.empty((len(q), rows, 2)), np.empty((len(q), rows))
    for i in range(len(q)):
        now = q[i], v[i]
        for n in range(rows * every):
            now = kernel(*now, u(i, n), p(i))
            found_q[i, n // every], found_v[i, n // every] = now
    return found_q, found_v


@pytest.mark.parametrize("program", [STEP, _composed()], ids=["a block", "calls"])
@pytest.mark.parametrize("count", [1, 7, 8, 100])
def test_iterations_are_repeated_calls(program, count, monkeypatch):
    rng = np.random.default_rng(count)
    q, v, p = rng.normal(size=(count, 2)), rng.normal(size=count), rng.normal(size=count)
    each, held, shared = rng.normal(size=(count, 6, 2)), rng.normal(size=(count, 2)), rng.normal(size=(1, 6, 2))
    for u, at in (
        (each, lambda i, n: each[i, n]),
        (held, lambda i, n: held[i]),
        (shared, lambda i, n: shared[0, n]),
        (held[0], lambda i, n: held[0]),
    ):
        wanted = _by_kernel(program, q, v, at, lambda i: p[i], 3, 2)
        for threads in (1, 2, 3):
            monkeypatch.setattr("kempe.compiler.threads.WORTH", 1)
            found = Iteration(program)((q, v), (u, p), rows=3, every=2, threads=threads)
            for x, y in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(x, y)


def test_what_cannot_be_fed_back_is_refused():
    grown = trace(lambda q: {"q": ca.vertcat(q, 1.0)}, {"q": 2}, name="grown")
    with pytest.raises(ProgramError, match=r"'grown' outputs q\[3\], which cannot be fed back as q\[2\]"):
        Iteration(grown)
    both = trace(lambda q: {"q": q, "more": q[0]}, {"q": 2}, {"more": ()}, name="both")
    with pytest.raises(ProgramError, match="has more outputs than inputs"):
        Iteration(both)


@pytest.mark.parametrize("count", [0, 1, 8, 63, 64, 65, 1000])
@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_parts_are_whole_vectors_and_all_there_is(count, threads):
    parts = []
    spread(count, 8, threads, 10**6, lambda first, last: parts.append((first, last)))
    assert sorted(k for first, last in parts for k in range(first, last)) == list(range(count))
    assert all(first % 8 == 0 for first, _ in parts)
    assert len(parts) <= threads
    parts.clear()
    spread(count, 8, threads, 1, lambda first, last: parts.append((first, last)))
    assert parts == [(0, count)]  # no thread is worth so little


def test_what_goes_wrong_in_a_thread_is_told():
    def work(first, last):
        if first:
            raise ValueError("not here")

    with pytest.raises(ValueError, match="not here"):
        spread(1000, 8, 4, 10**6, work)
