# Of the slots of a buffer one counts, whatever the micro-batches in flight.
# file: core/job/job.c
# tests: test_limits
s/sl_product(b->slots, b->bytes + SL_ALIGN)/b->bytes + SL_ALIGN/
