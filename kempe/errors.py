"""Every exception Kempe raises; each message says what is wrong, where (by name) and what to do."""

LONGEST, WORD = 4000, 200  # characters of a line of a message, and of a word in it


class KempeError(Exception):
    """The base of all of Kempe's own exceptions. What is quoted in a message may be anything."""

    def __init__(self, *arguments):
        super().__init__(*(plain(x) if isinstance(x, str) else x for x in arguments))


def plain(message: str) -> str:
    """A message that can be shown: what cannot be printed is written in ASCII, what is very long is cut in the middle.
    Lines stay lines."""
    if not message.isprintable():
        message = "".join(x if x.isprintable() or x == "\n" else ascii(x)[1:-1] for x in message)
    if len(message) <= WORD:
        return message
    lines = (" ".join(_cut(word, WORD) for word in line.split(" ")) for line in message.split("\n"))
    return "\n".join(_cut(line, LONGEST) for line in lines)


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most // 2]} ... {words[-most // 4 :]}"


class TraceError(KempeError):
    """A function cannot be turned into a program."""


class ProgramError(KempeError, ValueError):
    """A program contradicts itself: a slot read before it is written, a table of the wrong width."""


class ArgumentError(KempeError, ValueError):
    """A kernel was called with the wrong number, shape or type of arguments."""


class CompileError(KempeError):
    """A program cannot be turned into machine code on this machine."""


class MechanismError(KempeError, ValueError):
    """A mechanism is described wrongly."""


class FileError(KempeError):
    """A file cannot be read or written; the message names it, and line and field where there are any."""


class TopologyError(KempeError):
    """A mechanism's joints cannot be arranged as asked."""


class StateError(KempeError, ValueError):
    """A state, velocity or effort does not fit a model."""


class NotClosed(StateError):
    """Loops are not closed, or cannot be; the message says which, by how much, and what is out of reach."""


class Singular(StateError):
    """A state at which loops, actuators or inertia do not determine what was asked for; the message says which."""


class RowError(StateError, IndexError):
    """A trajectory has no such row; an IndexError too, so that loops over it end."""


class MotionError(KempeError, ValueError):
    """A desired motion, or a table over time, contradicts itself or does not fit another."""


class MissingPackage(KempeError, ImportError):
    """A package that only this call needs is not installed; the message says how to get it."""


class ViewError(KempeError, ValueError):
    """Something cannot be drawn as asked."""
