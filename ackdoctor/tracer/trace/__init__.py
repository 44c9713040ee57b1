"""A trace on disk: JSON lines while a process writes, Parquet or JSON lines when a part is finished."""
