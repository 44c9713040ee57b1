"""What earlier runs found out, so that nobody does it twice."""
