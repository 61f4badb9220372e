"""What is compiled for some mechanisms, as one line of JSON: choices, counts, digests of programs, samples, scales.

    python -m tests.programs four-bar 3-rrr mechanism.yaml

In a process of its own, under other libraries of linear algebra or instruction sets, it has to say the same.
"""

import hashlib
import json
import os
import sys
import tempfile
import warnings

FORMULATIONS = ("auto", "augmented", "sslm")


def said(name: str) -> dict:
    """Of a gallery entry, or of a mechanism in a file."""
    import numpy as np

    import kempe as kp
    from kempe.gallery.entries import ENTRIES
    from kempe.simulate.scales import scales

    m = ENTRIES[name].build() if name in ENTRIES else kp.load(name)
    found: dict = {}
    for formulation in FORMULATIONS if len(m.bodies) < 8 else FORMULATIONS[:1]:
        model = m.compile(formulation)
        if not model.topology.constrained and formulation != "auto":
            continue
        own: dict = {"taken": model.formulation, "operations": model.counts.total}
        own |= {f: model.program(f).digest for f in ("forward_dynamics", "generalized_forces")}
        numbers = [model.p]
        if model.topology.constrained:
            own["choices"] = repr(model.prepared.atlas.choices if len(m.bodies) < 20 else model.choice)
            own["project"] = model.program("project").digest
            numbers += [*model.prepared.samples.states, scales(model, model.p, model.choice)]
        else:
            numbers += [scales(model, model.p)]
        own["numbers"] = hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in numbers)).hexdigest()
        found[formulation] = own
    return found


def main(names: list[str]) -> None:
    """Prints what is compiled, and where arithmetic was met that differs between processors, if that is looked for."""
    os.environ["KEMPE_CACHE_DIR"] = tempfile.mkdtemp(prefix="kempe-programs-")
    watched = os.environ.get("KEMPE_WATCH")
    if watched:
        from tests import fixed_order

        fixed_order.watch()
    warnings.simplefilter("ignore")
    told = {"programs": {name: said(name) for name in names}}
    if watched:
        told["met"] = sorted(fixed_order.FOUND)
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1:])
