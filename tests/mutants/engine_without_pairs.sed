# Messages of a pipeline that name no group go through the pipeline's communicator.
# file: core/plan/communicators.c
# tests: test_communicators
s/pair_messages ? neighbours/pair_messages ? 0 * neighbours/
