"""xplane.pb, the profiles of JAX and TensorFlow: `reader`, which `registry` names."""
