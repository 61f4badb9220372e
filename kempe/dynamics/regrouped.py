"""Regrouped: masses moved along the tree to where they cost least, with the same equations of motion.

If a joint only turns a link, the link's origin is a point of the parent too. A point mass there may be assigned to
either of the two: accelerations and generalized forces are the same. So all the mass of such a link is assigned to its
parent, at the joint, and the link keeps its first moment and its inertia about the joint, to which a mass at the joint
does not contribute. This removes all products with its mass; mass that ends up on the ground moves nothing.

The wrenches between links change, and so do the momenta of single links: this is for equations in generalized
coordinates alone. (Base inertial parameters: W. Khalil and J.-F. Kleinfinger, 1987. Theirs also move first moments
along the axis of a hinge, and moments of inertia about lines normal to it; here that has made programs longer.)
"""

from dataclasses import replace

import numpy as np

from kempe.dynamics.tree import Tree
from kempe.mechanism.joints import Revolute, Spherical, Universal
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.vectors import zeros

TURNING = (Revolute, Universal, Spherical)


def regrouped(tree: Tree) -> Tree:
    """The tree with masses where they cost least; beams, whose mass bends with them, are left unchanged."""
    if any(link.beam is not None or link.shared for link in tree.links):
        return tree
    links = list(tree.links)
    for k in range(len(links) - 1, -1, -1):
        link, parent = links[k], tree.parents[k]
        if not isinstance(link.kind, TURNING):
            continue
        mass, moment, tensor = link.inertia.mass, link.inertia.moment, link.inertia.tensor
        links[k] = replace(link, inertia=RigidInertia(0.0, moment, tensor))
        if parent >= 0:
            moved = RigidInertia(mass, zeros(3), np.zeros((3, 3))).back(link.placement)
            links[parent] = replace(links[parent], inertia=links[parent].inertia + moved)
    return replace(tree, links=tuple(links))
