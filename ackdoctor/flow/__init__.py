"""Control flow and the analysis over it: no language and no rule in here.

The way in is `component.solve_component`; docs/architecture.md has the steps.
"""
