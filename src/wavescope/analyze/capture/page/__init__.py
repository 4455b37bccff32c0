"""What the page of a capture shows: code beside source, waves over time."""
