"""How components are wired and configured, and the guarantee that follows from it."""
