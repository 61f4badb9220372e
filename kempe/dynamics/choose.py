"""Which way `partition` takes: by composite bodies of the whole mechanism, or by clusters of joints, one by one.

Both have W and g in common. Composite bodies give the inertia matrix of all generalized coordinates, which is factored
as it is: O(n^3). Clusters take apart what loops and couplings tie together, and go on as in a tree: O(n) in their
number, at the price of an articulated inertia handed on at each. Where all is one cluster they are the same.
"""

from kempe.mechanism.flexible import BeamJoint
from kempe.topology.clusters import clusters
from kempe.topology.tree import Topology

LONG = 20  # velocities of the tree from which on several clusters pay, by counted operations


def way(topology: Topology) -> str:
    """Composite, or clusters; beams are links of composite bodies only."""
    if topology.nv < LONG or any(isinstance(t.joint, BeamJoint) for t in topology.tree):
        return "composite"
    return "clusters" if len(clusters(topology)) > 1 else "composite"
