"""What the user says: bodies, markers, joints, loads, and a check of all of it at once."""
