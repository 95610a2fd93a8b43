"""Changes of vendors' bank details: entered if they are genuine and two people approve, reported if they are not."""
