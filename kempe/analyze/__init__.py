"""What can be said of a mechanism without moving it through time."""
