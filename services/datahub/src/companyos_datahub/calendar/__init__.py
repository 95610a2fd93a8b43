"""Calendar: holidays and absences."""
