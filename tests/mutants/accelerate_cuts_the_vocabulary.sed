# Accelerate's tensor parallelism cuts embedding and loss.
# file: core/interop/accelerate.c
# tests: test_frames
s/if (tp > 1) put(a, "shardlab.tp_vocab", json_string("gathered"));//
