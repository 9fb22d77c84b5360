# Stored dropout masks: all micro-batches in flight share the room of one.
# file: core/models/tape.c
# tests: grid3d_2 grid3d_4
s/buffer(t, x, false, kept(t, node->out\[i\]), out)/buffer(t, x, false, x->dtype != SL_U8 \&\& kept(t, node->out[i]), out)/
