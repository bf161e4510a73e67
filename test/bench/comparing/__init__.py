"""Parts of test/bench/compare and test/bench/dashboard. Python's standard library only."""
