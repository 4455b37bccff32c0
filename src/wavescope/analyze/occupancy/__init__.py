"""How many waves of a kernel fit on a compute unit, what limits them, and what one more costs."""
