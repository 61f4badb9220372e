"""File formats: URDF, MJCF and SDFormat files, read into mechanisms and written from them."""
