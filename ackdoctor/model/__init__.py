"""The nouns: dataclasses and enums, none of which changes after it is made; standard library only.

Begin with `protocol`, the one table that everything else serves; what all of it comes to is a `finding`.
"""
