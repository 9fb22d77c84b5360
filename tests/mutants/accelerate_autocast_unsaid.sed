# Accelerate's mixed_precision of a plan under torch.autocast is not written.
# file: core/interop/accelerate_write.c
# tests: test_written
s/autocast ? text_at(w, "torch_autocast.dtype")/autocast ? "no"/
