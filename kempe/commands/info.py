"""`kempe info`: shows a mechanism on one screen."""

import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kempe.analyze.mobility import gruebler, mobility
from kempe.check import Finding
from kempe.commands.subject import Subject, begun
from kempe.errors import NotClosed
from kempe.mechanics.state import State
from kempe.model.model import Model

FEW = 5  # notes on the file to show


@dataclass(frozen=True)
class Info:
    """The information about a mechanism before running anything."""

    name: str
    picture: str
    bodies: int
    joints: int
    loops: int
    couplings: dict[str, str]
    freedom_by_rank: int | None
    freedom_by_gruebler: int
    actuators: int
    actuation: str
    redundant: list[str] | None
    undetermined: list[str] | None
    spins: list[str]
    cut: dict[str, str]
    subsystems: list[list[str]]
    formulation: str
    why: str
    independent: list[str]
    q: list[str]
    v: list[str]
    u: list[str]
    warnings: list[str]
    notes: list[str]
    next: list[str]


def shown(subject: Subject, model: Model) -> State:
    """The pose to draw: for closed mechanisms of the gallery the start of their run, for others the assembled state."""
    if subject.entry is None or not model.topology.constrained:
        return model.assemble()
    return begun(subject.entry, model)


def info(subject: Subject, folder: Path) -> Info:
    """Collects the information about a mechanism and draws it."""
    mechanism = subject.mechanism
    findings = mechanism.check()
    findings.raise_errors()
    found = mechanism.topology()
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the findings include them
        model = mechanism.compile()
    try:
        moves, state = mobility(model), shown(subject, model)
    except NotClosed as error:
        moves, state = None, model.state()
        findings = replace(findings, all=(*findings.all, Finding("warning", mechanism.name, str(error))))
    picture = state.picture(folder / "mechanism.png")
    return Info(
        name=mechanism.name,
        picture=str(picture),
        bodies=len(mechanism.bodies),
        joints=len(mechanism.joints),
        loops=len(found.loops),
        couplings={each.name: str(each) for each in mechanism.couplings},
        freedom_by_rank=moves.freedom if moves else None,
        freedom_by_gruebler=gruebler(model.topology),
        actuators=model.nu,
        actuation=moves.actuation if moves else f"{model.nu} actuated",
        redundant=list(moves.redundant) if moves else None,
        undetermined=list(moves.undetermined) if moves else None,
        spins=list(moves.spins) if moves else [],
        cut={loop.joint.name: loop.reason for loop in found.loops},
        subsystems=[list(part.bodies) for part in found.subsystems],
        formulation=model.formulation if moves else "auto",
        why=model.why if moves else "no coordinates could be chosen, since it cannot be assembled",
        independent=[model.v_names[k] for k in model.choice.independent] if found.constrained and moves else [],
        q=list(model.q_names),
        v=list(model.v_names),
        u=list(model.u_names),
        warnings=[str(finding) for finding in findings.warnings],
        notes=list(mechanism.notes),
        next=_next(subject, moves is not None),
    )


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _next(subject: Subject, assembled: bool) -> list[str]:
    word = subject.word if " " not in subject.word else f"'{subject.word}'"
    again = [f"kempe run {word}"] * assembled + [f"kempe counts {word}"]
    papers = {"four-bar": 1, "five-bar": 1, "carpet-scraper": 2, "3-rrr": 2, "excavator": 2, "swing": 3, "puma": 4}
    paper = papers.get(subject.entry.name) if subject.entry else None
    return again + [f"kempe reproduce {paper}"] * (paper is not None)


def show(found: Info, console: Console) -> None:
    """Prints the screen."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0), title=escape(found.name), title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in lines(found):
        table.add_row(name, escape(text))
    console.print(table)


def lines(found: Info) -> list[tuple[str, str]]:
    """The lines of the screen: a word and its text."""
    rank = "unknown, it cannot be assembled" if found.freedom_by_rank is None else str(found.freedom_by_rank)
    redundant = "unknown" if found.redundant is None else ", ".join(found.redundant) or "none"
    parts = [_count(found.bodies, "body", "bodies"), _count(found.joints, "joint"), _count(found.loops, "loop")]
    parts += [_count(len(found.couplings), "coupling")] * bool(found.couplings)
    lines = [
        ("picture", found.picture),
        ("parts", ", ".join(parts)),
        ("freedom", f"by rank {rank}, by Gruebler {found.freedom_by_gruebler}"),
        ("actuation", found.actuation),
        ("redundant", redundant),
        ("cut joints", _cuts(found.cut)),
        ("equations", found.why),
        ("q", _listed(found.q)),
        ("v", "as q" if found.v == found.q else _listed(found.v)),
        ("u", _listed(found.u) or "none: no joint has actuated=True"),
    ]
    if found.loops:
        parts = (f"{k} {_listed(bodies)}" for k, bodies in enumerate(found.subsystems, start=1))
        lines.insert(6, ("subsystems", "; ".join(parts)))
    if found.undetermined:
        lines.insert(5, ("reactions", f"not unique: {_listed(found.undetermined)}"))
    if found.spins:
        lines.insert(5, ("by itself", f"{', '.join(found.spins)}: can move while all else rests"))
    lines += [("warning", text) for text in found.warnings]
    lines += [("file", text) for text in found.notes[:FEW]]
    if len(found.notes) > FEW:
        lines.append(("", f"and {len(found.notes) - FEW} more notes: give --json"))
    return lines + ([("next", "   ".join(found.next))] if found.next else [])


def _cuts(cut: dict[str, str]) -> str:
    """Cut joints, grouped by the reason for the cut."""
    together: dict[str, list[str]] = {}
    for name, reason in cut.items():
        together.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in together.items()) or "none, it is a tree"


def _listed(names: list[str], most: int = 24) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def as_json(found: Info) -> dict:
    """The information as plain data."""
    return asdict(found)
