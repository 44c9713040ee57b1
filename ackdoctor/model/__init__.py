"""The nouns: frozen dataclasses and enums, standard library only."""
