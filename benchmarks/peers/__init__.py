"""Peers: the mechanisms of the measurements in the libraries a user would pick instead, on the same spanning tree."""

import gc
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from benchmarks.peers.description import CannotBuild, describe
from benchmarks.peers.peer import Peer
from kempe.model.model import Model

# By the name of their package; those that are not there are left out with a sentence.
MODULES = {
    "pin": ("pinocchio", "Pinocchio"),
    "mujoco": ("mujoco", "MuJoCo"),
    "drake": ("drake", "Drake"),
    "exudyn": ("exudyn", "Exudyn"),
}


def versions() -> dict[str, str]:
    """By package, those that are here."""
    found = {}
    for package in MODULES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def peers_of(model: Model, packages=None) -> tuple[list[Peer], list[str]]:
    """The mechanism in every library that is here, or in those of `packages`; and a sentence for each that cannot."""
    wanted = versions() if packages is None else packages
    gc.collect()  # peers refer to themselves, and those of long mechanisms hold gigabytes
    try:
        description = describe(model)
    except CannotBuild as why:
        return [], [str(why)]
    peers, sentences = [], []
    for package in wanted:
        module, name = MODULES[package]
        try:
            peers.append(getattr(import_module(f"benchmarks.peers.{module}"), name)(description))
        except CannotBuild as why:
            sentences.append(str(why))
    return peers, sentences
