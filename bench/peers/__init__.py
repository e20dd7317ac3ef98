"""What several tasks share about a contender."""
