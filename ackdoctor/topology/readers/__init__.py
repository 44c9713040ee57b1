"""One module for each way to write a topology: its text -> `Topology`."""
