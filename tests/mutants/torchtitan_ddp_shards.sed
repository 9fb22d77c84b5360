# torchtitan's DDP is read as FSDP2.
# file: core/interop/torchtitan.c
# tests: test_frames
s/if (t->members == 1) return put_ddp(t);/if (t->members == 0) return put_ddp(t);/
