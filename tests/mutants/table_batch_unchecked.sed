# A row's global batch need not be what its micro-batches make.
# file: table/inputs.c
# tests: test_table
s/batch == r->global_batch_seqs/batch > 0/
