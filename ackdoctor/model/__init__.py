"""The nouns: dataclasses that nobody changes (DESIGN D31), and enums; standard library only.

Begin with `protocol`, the one table that everything else serves; what all of it comes to is a `finding`.
"""
