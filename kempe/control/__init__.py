"""Control: desired motions, torque laws that follow them, and functions of time given as tables."""
