# Accelerate's machines say nothing of how many ranks a node has.
# file: core/interop/accelerate.c
# tests: test_frames
s/a->per_machine = machines > 1 || said ? a->together : 0;/a->per_machine = said \&\& machines < 0;/
