"""The data types that all packages share: immutable dataclasses and enums that need the standard library only.

Start with `protocol`, the table of the acking protocol; `finding` is the result of every command.
"""
