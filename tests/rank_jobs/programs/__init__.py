"""What the ranks of a job do in a step, for each way of sharing the work."""
