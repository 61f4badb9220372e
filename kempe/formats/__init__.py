"""Files of others: URDF and its relatives, read into mechanisms and written from them."""
