"""What test/bench/quality is made of."""
