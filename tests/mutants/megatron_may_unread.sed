# A family is taken although it cannot say all that the arguments ask for.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/while (((f->has | f->may) \& \*found) != \*found || /while (/
