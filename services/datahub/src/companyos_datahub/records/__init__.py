"""Records: contracts, licences, expenses and other business documents."""
