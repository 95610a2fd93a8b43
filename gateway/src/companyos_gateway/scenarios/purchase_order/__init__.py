"""Purchase orders: an invoice is released where order, receipts and invoice agree, and held where they do not."""
