"""Control flow and the analysis over it: no language and no rule in here.

The way in is `component.solve_component`; DESIGN.md, "The pipeline of `lint`", says in which order its packages work.
"""
