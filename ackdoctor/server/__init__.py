"""The language server: lint in editors."""
