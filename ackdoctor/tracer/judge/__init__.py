"""From violations and entries to findings; a stored trace judged; one root's life."""
