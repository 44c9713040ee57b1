"""What each step does to what a path knows: assignments, conditions, calls of the framework and all others."""
