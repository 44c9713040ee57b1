"""What one path knows and how it got there; what was seen on it, and the path as a reader follows it."""
