# With --world, hybrid sharding takes all ranks for one machine.
# file: core/interop/accelerate.c
# tests: test_frames
s/a->together = processes \/ machines;/a->together = flag > 0 ? flag : processes \/ machines;/
