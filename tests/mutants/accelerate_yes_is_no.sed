# Words that Accelerate reads as true are read as false.
# file: core/interop/accelerate.c
# tests: test_accelerate_megatron
s/return \*out = sl_interop_among(on, text), SL_OK;/return *out = sl_interop_among(on + 3, text), SL_OK;/
