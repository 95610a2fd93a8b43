"""Purchase orders: an invoice is released if order, receipts and invoice agree, and put on hold if they do not."""
