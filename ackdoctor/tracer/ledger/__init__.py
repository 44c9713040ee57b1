"""What was handed to components, and what became of it: the books, and what they come to."""
