"""Storm's acker and its relatives, said in Python: one readable model with a profile per version."""
