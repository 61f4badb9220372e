"""`python -m tests.invariance.fuzz --minutes 60`: the checks of `test_invariance` with new numbers, until time is up.

Failures are printed as cases, with as few changes as it takes; those that stay belong into `kept`.
"""

import argparse
import random
import signal
import sys
import time
from collections import Counter

from tests.invariance.checking import FEATURES, Case, failures, report
from tests.invariance.random_subjects import GALLERY, SORTS

LONGEST = 600  # s for a case


class TooLong(Exception):
    """A case that does not end."""


def _stop(signum, frame):
    raise TooLong


def _checked(case: Case) -> str | None:
    """Nothing, where all is right; None, where the feature does not apply."""
    signal.alarm(LONGEST)
    try:
        found = failures(case)
        return report(case, found) if found else None if found is None else ""
    except TooLong:
        return f"{case}\n  takes longer than {LONGEST} s"
    except Exception as error:
        return f"{case}\n  the check itself: {type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def main() -> int:
    """Failures, as the exit status says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=None, help="where to begin; anywhere, unless given")
    parser.add_argument("--features", nargs="*", default=list(FEATURES))
    parser.add_argument("--sorts", nargs="*", default=[*SORTS, *GALLERY])
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    print(f"begins with --seed {seed}", flush=True)
    rng, done, failed = random.Random(seed), Counter(), Counter()
    end = time.monotonic() + 3600 * given.hours + 60 * given.minutes
    signal.signal(signal.SIGALRM, _stop)
    while time.monotonic() < end:
        sort, number = rng.choice(given.sorts), rng.randrange(10**9)
        for feature in rng.sample(given.features, len(given.features)):  # what they compile is shared
            if time.monotonic() < end and sort in (FEATURES[feature].sorts or given.sorts):
                found = _checked(Case(feature, sort, number))
                done[feature] += found is not None
                failed[feature] += bool(found)
                if found:
                    print(found, flush=True)
    print(*(f"{name}: {failed[name]} of {count} failed" for name, count in sorted(done.items())), sep="\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
