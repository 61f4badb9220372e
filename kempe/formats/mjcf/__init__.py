"""MJCF: MuJoCo's file format, with nested bodies, default classes, and loops closed by equalities."""
