"""Wrappers around other people's frameworks, by the data of their dialects."""
