# Blocks have room for the queue of one thread.
# file: core/lower/nvme.c
# tests: test_offload_train test_offload
s/sl_product(c->aio.queue_depth, c->aio.threads)/c->aio.queue_depth/
