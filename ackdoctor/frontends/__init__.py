"""Source text to `Unit`, one package per language; each has one function, `lower_source`.  `branches` is what they share."""
