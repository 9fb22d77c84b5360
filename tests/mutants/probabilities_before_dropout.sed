# Stored dropout masks: attention's backward reads the probabilities where it wants what dropout left of them.
# file: core/models/transformer.c
# tests: grid3d_1 grid3d_2 grid3d_4
s/operands\[n++\] = sl_build_read(l, kept.dropped);/operands[n++] = sl_build_read(l, kept.softmax);/
