"""What native code does, once more in plain Python: slow, and easy to be sure of."""
