"""What was handed to components, and what became of it: the records, and what they come to."""
