"""Assignment of tickets."""
