"""Names of kernels: demangled, shortened, and what they mean. The modules are the doors."""
