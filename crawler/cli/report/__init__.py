"""What a crawl has found, and what has changed since another."""
