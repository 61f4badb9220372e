"""A feature held against itself: a subject, changes that change nothing in the physics, and the same observation."""

import traceback
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from kempe.errors import KempeError
from tests.invariance.changes import CHANGES, changed, fewest
from tests.invariance.features import STATICS, nothing
from tests.invariance.motions import MOTIONS
from tests.invariance.observing import Observation, differences
from tests.invariance.random_subjects import QUICK, SORTS, subject
from tests.invariance.subject import Subject
from tests.invariance.whole import WHOLE

FEATURES = STATICS | MOTIONS | WHOLE
TRIES = 40  # subjects, until one has what a feature takes


@dataclass(frozen=True)
class Case:
    """Everything that a check depends on; what is printed of a failure, and kept."""

    feature: str
    sort: str
    seed: int
    changes: tuple[str, ...] = tuple(CHANGES)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the changes, those that the feature has to do with."""
        return tuple(n for n in self.changes if n not in FEATURES[self.feature].avoid)


def quick(feature: str, number: int, seeds: int) -> Case:
    """One of the cases of small mechanisms there are of a feature."""
    sorts = tuple(n for n in FEATURES[feature].sorts if n not in SORTS or n in (*QUICK, "floating")) or QUICK
    return Case(feature, sorts[number % len(sorts)], number // len(sorts) % seeds)


@lru_cache(maxsize=16)
def plainly(sort: str, seed: int, names: tuple[str, ...]) -> tuple[Subject, Subject]:
    """A subject as it is and changed, which features that prepare nothing share, and what they compile."""
    original = subject(sort, seed)
    return original, changed(original, names, seed)


def pair(case: Case) -> tuple[Subject, Subject] | None:
    """The original, and what it is changed to; None where there is no such thing."""
    feature = FEATURES[case.feature]
    if feature.prepare is nothing:
        return plainly(case.sort, case.seed, case.names)
    original = feature.prepare(subject(case.sort, case.seed), np.random.default_rng([case.seed, 77]))
    return None if original is None else (original, changed(original, case.names, case.seed))


def failures(case: Case) -> list[str] | None:
    """What depends on how the mechanism was described, in words; None where the feature does not apply."""
    feature = FEATURES[case.feature]
    try:
        both = pair(case)
        context = feature.context(both[0]) if both is not None else None
    except KempeError as error:
        return [f"beforehand: {type(error).__name__}: {error}"]
    if both is None:
        return None
    seen, found = [], []
    for who, each in zip(("the original", "changed"), both, strict=True):
        try:
            seen.append(_back(feature.observe(each, context), each))
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            found.append(f"{who}: {type(error).__name__}: {error} ({at.filename}, line {at.lineno})")
    if found:
        return found
    allowed = feature.tolerance(both[0], context)
    if feature.each:
        other = feature.tolerance(both[1], feature.context(both[1]))
        allowed = {sort: max(x, other.get(sort, 0.0)) for sort, x in allowed.items()}
    found += [f"after the changes, {x}" for x in differences(seen[0], seen[1], allowed)]
    if feature.truth is not None:
        for who, each, own in zip(("the original", "changed"), both, seen, strict=True):
            known = _back(feature.truth(each, context), each)
            found += [f"{who}, beside what is known: {x}" for x in differences(known, own, allowed)]
    return found


def _back(observation: Observation, each: Subject) -> Observation:
    return {name: x.back(each) for name, x in observation.items()}


def applicable(case: Case) -> Case | None:
    """The case, or the next one with a subject that has what the feature takes."""
    feature = FEATURES[case.feature]
    for further in range(TRIES):
        found = replace(case, seed=case.seed + 1000 * further)
        try:
            one = feature.prepare(subject(found.sort, found.seed), np.random.default_rng([found.seed, 77]))
        except (KempeError, ValueError):
            continue
        if one is not None:
            return found
    return None


def smallest(case: Case) -> Case:
    """With as few changes as it fails for."""
    if not case.names:
        return case
    plainly.cache_clear()
    return replace(case, changes=fewest(case.names, lambda names: bool(failures(replace(case, changes=names)))))


def report(case: Case, found: list[str]) -> str:
    """A failure, with what it takes to see it again."""
    return "\n  ".join([f"{smallest(case)}", *(x[:600] for x in found[:6])])
