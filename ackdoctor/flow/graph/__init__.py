"""Graphs: building them, showing them, and what can be asked of an instruction or an expression alone."""
