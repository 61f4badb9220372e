"""Topology: the graph of a mechanism, its spanning tree, and the joints that close its loops."""
