"""One module per pattern, each with `find(context, free)`: the opportunities among free pieces."""
