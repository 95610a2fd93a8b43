"""The board: tickets listed, searched and shown whole."""
