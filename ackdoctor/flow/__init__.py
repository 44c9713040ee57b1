"""Control flow and the analysis over it: no language and no rule in here."""
