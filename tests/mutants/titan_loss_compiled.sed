# Files of torchtitan of 2024 compile the loss.
# file: core/interop/torchtitan.c
# tests: test_frames
s/loss = blocks \&\& !old \&\& compiles/loss = (blocks || old) \&\& blocks \&\& compiles/
