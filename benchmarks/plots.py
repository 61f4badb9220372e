"""Plots: numbers by mechanism and contender on logarithmic axes, and how they grow with size."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.motions import ACCURACY
from benchmarks.rows import Sample

MARKS = "os^vDPX*<>hd"
UNITS = {"s": "time [s]", "MiB": "memory [MiB]"}


def draw(samples: Sequence[Sample], folder: Path) -> list[Path]:
    """A picture for every quantity, and one more where mechanisms of it come in three sizes or more; of curves, one for
    every mechanism."""
    from matplotlib.figure import Figure

    paths = []
    for mechanism in dict.fromkeys(sample.mechanism for sample in samples if sample.error):
        own = [sample for sample in samples if sample.error and sample.mechanism == mechanism]
        figure = Figure(figsize=(10.0, 5.5), layout="constrained")
        _by_error(figure.add_subplot(), own)
        paths.append(_saved(figure, folder / f"{_name(f'{own[0].quantity} {mechanism}')}.png"))
    plain = [sample for sample in samples if sample.error is None]
    for quantity in dict.fromkeys(sample.quantity for sample in plain):
        own = [sample for sample in plain if sample.quantity == quantity and sample.median > 0]
        if not own:
            continue
        figure = Figure(figsize=(10.0, 5.5), layout="constrained")
        _by_mechanism(figure.add_subplot(), own)
        paths.append(_saved(figure, folder / f"{_name(quantity)}.png"))
        families = _families(own)
        if families:
            figure = Figure(figsize=(5.5 * len(families), 5.0), layout="constrained")
            for number, (family, members) in enumerate(families.items()):
                _by_size(figure.add_subplot(1, len(families), number + 1), quantity, family, members)
            paths.append(_saved(figure, folder / f"{_name(quantity)}-growth.png"))
    return paths


def _by_mechanism(axes, samples: list[Sample]) -> None:
    mechanisms = list(dict.fromkeys(sample.mechanism for sample in samples))
    contenders = list(dict.fromkeys(sample.contender for sample in samples))
    for number, contender in enumerate(contenders):
        own = [sample for sample in samples if sample.contender == contender]
        # Beside each other, so that none covers another.
        x = [mechanisms.index(sample.mechanism) + 0.7 * ((number + 0.5) / len(contenders) - 0.5) for sample in own]
        _marked(axes, x, own, number, contender, line=False)
    axes.set_xticks(range(len(mechanisms)), mechanisms, rotation=30 if len(mechanisms) > 6 else 0, ha="right"
                    if len(mechanisms) > 6 else "center")  # fmt: skip
    for edge in range(1, len(mechanisms)):
        axes.axvline(edge - 0.5, color="0.9", linewidth=0.8)
    _finished(axes, samples[0].quantity, UNITS[samples[0].unit])


def _by_size(axes, quantity: str, family: str, samples: list[Sample]) -> None:
    for number, contender in enumerate(dict.fromkeys(sample.contender for sample in samples)):
        own = sorted((sample for sample in samples if sample.contender == contender), key=lambda x: x.size)
        _marked(axes, [sample.size for sample in own], own, number, contender, line=True)
    axes.set_xscale("log")
    sizes = sorted({sample.size for sample in samples})
    axes.set_xticks(sizes, list(map(str, sizes)))
    axes.minorticks_off()
    axes.set_xlabel(family)
    _finished(axes, quantity, UNITS[samples[0].unit])


def _by_error(axes, samples: list[Sample]) -> None:
    for number, contender in enumerate(dict.fromkeys(sample.contender for sample in samples)):
        own = [sample for sample in samples if sample.contender == contender]
        _marked(axes, [sample.error for sample in own], own, number, contender, line=True)
    axes.set_xscale("log")
    axes.invert_xaxis()  # more exact to the right
    axes.axvline(ACCURACY, color="0.3", linewidth=0.8, linestyle="--")
    axes.set_xlabel("largest error [rad]; more exact to the right, runs are compared at the dashed line")
    axes.grid(axis="x", which="major", color="0.9")
    _finished(axes, f"{samples[0].mechanism}: a run to equal accuracy", UNITS[samples[0].unit])


def _marked(axes, x, samples: list[Sample], number: int, label: str, line: bool) -> None:
    from matplotlib import colormaps

    y = np.array([sample.median for sample in samples])
    below = y - np.array([max(sample.low, sample.median / 10) for sample in samples])
    above = np.array([sample.high for sample in samples]) - y
    style = {
        "marker": MARKS[number % len(MARKS)],
        "color": colormaps["tab20"](2 * number % 20 + (number >= 10)),
        "markersize": 5,
        "capsize": 2,
    }
    axes.errorbar(x, y, np.maximum([below, above], 0), linestyle="-" if line else "", label=label, linewidth=1, **style)


def _finished(axes, title: str, label: str) -> None:
    axes.set_yscale("log")
    axes.set_ylabel(label)
    axes.set_title(title)
    axes.grid(axis="y", which="major", color="0.9")
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)


def _families(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Mechanisms that come in sizes, by what their size counts."""
    families: dict[str, list[Sample]] = {}
    for sample in samples:
        words = [word for word in sample.mechanism.split() if not word.isdigit()]
        if len(words) < len(sample.mechanism.split()):
            families.setdefault("bodies in a chain" if "chain" in words else "four-bars in a row", []).append(sample)
    return {name: own for name, own in families.items() if len({sample.size for sample in own}) > 2}


def _saved(figure, path: Path) -> Path:
    figure.savefig(path, dpi=130)
    return path


def _name(quantity: str) -> str:
    return quantity.replace(",", "").replace(" ", "-")
