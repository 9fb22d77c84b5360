# Own parts of the only backward of a step wait for its end in the type they arrived in.
# file: core/lower/reduce.c
# tests: test_cli_truths
s/const bool moves = plan->strategy/const bool moves = plan->n_micro > 1 \&\& plan->strategy/
