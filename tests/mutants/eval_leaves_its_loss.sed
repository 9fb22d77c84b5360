# The step state is not put back: the next step's loss has the evaluation's in it.
# file: core/run/executor.c
# tests: test_cli_evaluate
s/  SL_GO(move_states(run, kept, true));//
