"""What a mechanism is asked to do: desired motions of its joints, and functions of time given as tables."""
