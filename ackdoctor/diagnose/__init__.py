"""What logs and pasted errors of workers and daemons mean."""
