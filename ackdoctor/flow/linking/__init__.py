"""From lowered files to a program: which name means what, which class is a component, what its switches are."""
