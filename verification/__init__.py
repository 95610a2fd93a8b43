"""Development checks that are not part of any distribution."""
