# Compiled kernels cast the stream's gradient by an op of its own.
# file: core/models/autocast.c
# tests: test_autocast_casts
s/if (fuses(t->g.l)) return write_beside/if (adds) return write_beside/
