"""Records: contracts, licenses, expenses and other business documents."""
