"""SDFormat, the files of Gazebo, read into mechanisms: one module for each thing that is in them."""
