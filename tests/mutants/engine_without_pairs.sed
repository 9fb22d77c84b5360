# DeepSpeed's pipeline engine sends inside its pipeline's communicator.
# file: core/plan/communicators.c
# tests: test_communicators
s/pipeline_engine ? neighbours/pipeline_engine ? 0 * neighbours/
