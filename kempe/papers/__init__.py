"""Papers: the five papers reproduced, and the report on them."""
