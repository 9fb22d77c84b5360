# Messages of a pipeline that name no group go through the pipeline's communicator.
# file: core/plan/communicators.c
# tests: test_communicators
s/sends_by_pairs ? neighbours/sends_by_pairs ? 0 * neighbours/
