# Stored dropout masks: attention's backward reads the probabilities where it wants what dropout left of them.
# file: core/models/attention.c
# tests: grid3d_1 grid3d_2 grid3d_4
s/sl_tape_at(t, n->out\[DROPPED\])/sl_tape_at(t, n->out[SOFTMAX])/
