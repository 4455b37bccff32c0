"""How a kernel uses L2 and memory, from hardware counters, and what that means."""
