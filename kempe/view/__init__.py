"""Views: pictures of states, strips of runs, and HTML pages that play runs."""
