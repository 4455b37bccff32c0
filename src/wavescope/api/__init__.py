"""The Python interface, and the only place that wires loading, analysing and rendering together.

`import wavescope` offers its functions, documented in docs/python.md; commands call the same ones.
"""
