# The GPU that pulls through the NVSwitch is served by itself too.
# file: cost/nccl/bandwidth.c
# tests: test_nccl
s/ \* (v->channels - 1) \/ v->channels;/;/
