"""Source text to `Unit`, one package per language."""
