"""SDFormat: Gazebo's file format, read into mechanisms, with one module for each kind of element."""
