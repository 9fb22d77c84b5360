# A table's fp8 runs of NeMo hold their parameters in 16 bits.
# file: table/inputs.c
# tests: test_table_frameworks
s/  return recipes \&\& r->zero_stage == 1;/  return recipes \&\& r->zero_stage == 3;/
