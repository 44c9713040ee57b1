"""The door to pyarrow: parts of a trace as Parquet."""

import pyarrow as pa

__all__ = ["TEXT"]

TEXT = pa.dictionary(pa.int32(), pa.string())  # few different values, named once in each part
