# Traits that are a flag each are not written.
# file: core/interop/megatron_model_write.c
# tests: test_megatron_model
s/    if (found \& f->trait) fprintf.*/    if (f->trait == 0) fprintf(out, "--%s\\n", f->argument);/
