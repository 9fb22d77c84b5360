# What an all-reduced bucket adds to a rank's own part is copied over it.
# file: core/lower/take.c
# tests: test_whole_sums
s/own.slice.access == SL_WRITE ? SL_OP_COPY : SL_OP_ADD/true ? SL_OP_COPY : SL_OP_ADD/
