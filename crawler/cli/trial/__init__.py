"""onceover try, and what it prints."""
