# Stored dropout masks: all micro-batches in flight share the room of one.
# file: core/models/transformer.c
# tests: grid3d_2 grid3d_4
s/return buffer(g, out, SL_U8, count, layer, name, keeps(g));/return buffer(g, out, SL_U8, count, layer, name, false);/
