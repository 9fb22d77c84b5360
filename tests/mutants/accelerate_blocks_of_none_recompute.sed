# Blocks of no layers are read as full recomputation.
# file: core/interop/accelerate.c
# tests: test_accelerate_megatron interop_property
s/const bool uniform = strcmp(method, "uniform") == 0, none = !uniform \&\& layers == 0;/const bool uniform = strcmp(method, "uniform") == 0, none = false;/
