"""What can be looked at: pictures of states, strips of runs, and pages that play them."""
