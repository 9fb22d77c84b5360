# The least allgather_bucket_size is that of one pipeline rank's part.
# file: core/lower/update.c
# tests: test_cli
s/part \* members \/ (SL_MAX_GATHERS/part \/ (SL_MAX_GATHERS/
