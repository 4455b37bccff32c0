"""What a thread trace tells: stalls by instruction and line, what waits wait for, how waves ran."""
