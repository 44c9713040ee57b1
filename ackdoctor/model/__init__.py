"""The nouns: dataclasses that nobody changes (DESIGN D31), and enums; standard library only."""
