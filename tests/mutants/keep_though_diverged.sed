# A training that has diverged removes its good checkpoints.
# file: core/checkpoint/save.c
# tests: test_cli_checkpoint
s/ \&\& isfinite(saver->snapshot.state.loss))/ \&\& saver->snapshot.state.step >= 0)/
