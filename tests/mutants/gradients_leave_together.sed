# Reduced gradients stay on the device until all of a backward have arrived.
# file: core/lower/reduce.c
# tests: test_offload
s/  return sl_gradients_sharded(l) \&\& passes \&\&/  return !sl_gradients_sharded(l) \&\& passes \&\&/
