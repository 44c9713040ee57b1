"""What the ackers did with every root, from their messages: MESSAGES -> ENTRIES -> VERDICTS."""
