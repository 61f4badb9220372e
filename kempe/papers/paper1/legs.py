"""Growth of `denoc`: counted operations over the bodies per leg and the number of legs (paper 1, section V).

All legs are identical: a universal joint on the ground, an actuated slider, a ball on the platform, bodies of general
shape. A leg has at most six independent passive freedoms, so extra bodies are welded on. A platform has at most six
freedoms, so the counts for more than six legs are of programs that no mechanism needs.
"""

import numpy as np

from kempe.compiler.count import count
from kempe.compiler.trace import trace
from kempe.dynamics import denoc
from kempe.dynamics.denoc import Denoc
from kempe.dynamics.equations import Equations
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial.quaternions import exponential, to_matrix
from kempe.spatial.vectors import from_sx, to_sx


def platform_on_legs(legs: int, bodies: int) -> Mechanism:
    """A platform on `legs` legs of `bodies` bodies each (at least two), with no special angles or lengths."""
    rng = np.random.default_rng(0)
    m = Mechanism(f"{legs} legs of {bodies}")
    platform = m.body("platform", 2.0, rng.normal(size=3) * 0.1, (0.3, 0.4, 0.5))
    for leg in range(legs):
        chain = [
            m.body(f"leg{leg + 1} body{k + 1}", rng.uniform(0.5, 1), rng.normal(size=3) * 0.1, rng.uniform(0.2, 0.3, 3))
            for k in range(bodies)
        ]
        ends = [
            [body.at(*rng.normal(size=3), rotation=to_matrix(exponential(rng.normal(size=3)))) for body in pair]
            for pair in zip((m.ground, *chain), (*chain, platform), strict=True)
        ]
        for k, (a, b) in enumerate(ends):
            name = f"leg{leg + 1} joint{k + 1}"
            if k == 0:
                m.universal(name, a, b)
            elif k == bodies:
                m.spherical(name, a, b)
            elif k == bodies - 1:
                m.prismatic(name, a, b, actuated=True)
            else:
                m.fixed(name, a, b)
    return m


def operations(what: str, legs: int, bodies: int) -> int:
    """Operations of inverse or forward dynamics."""
    equations = Equations(platform_on_legs(legs, bodies).topology(), (), Denoc())
    tree, sizes = equations.constant_tree, equations.sizes
    algorithm = {"inverse": denoc.inverse, "forward": denoc.forward}[what]

    def program(q, v, given):
        return to_sx(algorithm(tree, from_sx(q), from_sx(v), from_sx(given), tree.topology.legs)[0])

    return count(trace(program, {"q": sizes["q"], "v": sizes["v"], "given": sizes["tau"]})).total
