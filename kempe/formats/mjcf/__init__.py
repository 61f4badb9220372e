"""MJCF, the files of MuJoCo: bodies inside bodies, classes of defaults, loops closed by equalities."""
