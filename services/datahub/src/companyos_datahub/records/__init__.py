"""Records: contracts, licences, expenses and the other papers of the business."""
