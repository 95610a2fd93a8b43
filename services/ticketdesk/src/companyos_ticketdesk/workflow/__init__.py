"""Status transitions and history of tickets."""
