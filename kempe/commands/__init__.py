"""What the commands do, each as a function that returns what it found and one that shows it."""
