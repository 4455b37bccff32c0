"""`make wheels`: wheels for every platform, an sdist, and lists of their parts, into dist/."""
