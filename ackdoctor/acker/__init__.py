"""A model of Storm's acker and its relatives, with a profile per version.

`acker` follows Acker.java; `versions` holds the differences between versions.
"""
