"""`kempe info`: a mechanism on one screen."""

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kempe.commands.subject import Subject
from kempe.errors import KempeError
from kempe.model.model import Model
from kempe.topology.tree import Topology


@dataclass(frozen=True)
class Info:
    """What there is to know before running anything."""

    name: str
    picture: str
    bodies: int
    joints: int
    loops: int
    freedom_by_rank: int | None
    freedom_by_gruebler: int
    actuators: int
    actuation: str
    redundant: list[str] | None
    cut: dict[str, str]
    formulation: str | None
    why: str
    q: list[str]
    v: list[str]
    u: list[str]
    warnings: list[str]
    next: list[str]


def info(subject: Subject, folder: Path) -> Info:
    """Looks at a mechanism and draws it."""
    mechanism = subject.mechanism
    findings = mechanism.check()
    findings.raise_errors()
    found = mechanism.topology()
    loops = len(found.loops)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are among the findings
            model = mechanism.compile()
    except KempeError as error:  # closed loops, so far
        model, why = None, str(error)
        picture = found.picture(folder / "graph.png")
    else:
        why = model.why
        picture = model.state().picture(folder / "mechanism.png")
    actuators = sum(on for joint in mechanism.joints for on in joint.actuated)
    freedom = found.nv if not loops else None
    q, v, u = (list(names) for names in _names(model, found))
    return Info(
        name=mechanism.name,
        picture=str(picture),
        bodies=len(mechanism.bodies),
        joints=len(mechanism.joints),
        loops=loops,
        freedom_by_rank=freedom,
        freedom_by_gruebler=_gruebler(found),
        actuators=actuators,
        actuation=_actuation(actuators, freedom),
        redundant=[] if not loops else None,
        cut={loop.joint.name: loop.reason for loop in found.loops},
        formulation=model.formulation if model else None,
        why=why,
        q=q,
        v=v,
        u=u,
        warnings=[str(finding) for finding in findings.warnings],
        next=_next(subject, model),
    )


def _gruebler(found: Topology) -> int:
    """Six freedoms a body, less six minus its own a joint."""
    m = found.mechanism
    return 6 * len(m.bodies) - sum(6 - len(joint.type.v_names) for joint in m.joints)


def _actuation(actuators: int, freedom: int | None) -> str:
    if freedom is None:
        return f"{actuators} actuated freedoms"
    if actuators < freedom:
        return (
            f"too few: {_count(actuators, 'actuator')} for {_count(freedom, 'freedom')}; the others move as they must"
        )
    if actuators > freedom:
        return f"redundant: {_count(actuators, 'actuator')} for {_count(freedom, 'freedom')}"
    return f"exact: {_count(actuators, 'actuator')} for {_count(freedom, 'freedom')}"


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _names(model: Model | None, found: Topology):
    if model is not None:
        return model.q_names, model.v_names, model.u_names
    joints = [t.joint for t in found.tree]
    q = [".".join(part for part in (j.name, n) if part) for j in joints for n in j.type.q_names]
    v = [".".join(part for part in (j.name, n) if part) for j in joints for n in j.type.v_names]
    return q, v, [n for n, on in zip(v, (on for j in joints for on in j.actuated), strict=True) if on]


def _next(subject: Subject, model: Model | None) -> list[str]:
    word = subject.word if " " not in subject.word else f"'{subject.word}'"
    if model is None:
        return []
    again = [f"kempe run {word}", f"kempe counts {word}"]
    studies = {"puma": "kempe reproduce 4"}
    return again + [study for name, study in studies.items() if subject.entry and subject.entry.name == name]


def show(found: Info, console: Console) -> None:
    """The screen."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0), title=escape(found.name), title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _lines(found):
        table.add_row(name, escape(text))
    console.print(table)


def _lines(found: Info) -> list[tuple[str, str]]:
    rank = "not yet analysed for closed loops" if found.freedom_by_rank is None else str(found.freedom_by_rank)
    redundant = "not yet analysed" if found.redundant is None else ", ".join(found.redundant) or "none"
    parts = _count(found.bodies, "body", "bodies"), _count(found.joints, "joint"), _count(found.loops, "loop")
    lines = [
        ("picture", found.picture),
        ("parts", ", ".join(parts)),
        ("freedom", f"by rank {rank}, by Gruebler {found.freedom_by_gruebler}"),
        ("actuation", found.actuation),
        ("redundant", redundant),
        ("cut joints", "; ".join(f"{name}: {reason}" for name, reason in found.cut.items()) or "none, it is a tree"),
        ("equations", f"{found.formulation or 'none yet'}: {found.why}"),
        ("q", _listed(found.q)),
        ("v", "as q" if found.v == found.q else _listed(found.v)),
        ("u", _listed(found.u) or "none: no joint has actuated=True"),
    ]
    lines += [("warning", text) for text in found.warnings]
    return lines + ([("next", "   ".join(found.next))] if found.next else [])


def _listed(names: list[str], most: int = 24) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def as_json(found: Info) -> dict:
    """For programs."""
    return asdict(found)
