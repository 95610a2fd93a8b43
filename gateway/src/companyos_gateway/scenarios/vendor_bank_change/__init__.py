"""Changes of vendors' bank details: entered when they are genuine and two people agree, reported when they are not."""
