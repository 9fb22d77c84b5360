# Accelerate's MULTI_GPU in 16 bits is read as fp32.
# file: core/interop/accelerate.c
# tests: test_frames
/put(a, "torch_autocast.enabled", json_true());/d
