"""HTTP on the loopback interface, for one user with the right address and nobody else."""
