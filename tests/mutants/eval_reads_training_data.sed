# An evaluation reads the sequences of the training.
# file: backend/common/input.c
# tests: test_cli_evaluate
s/if (evaluates) return input->val_first + k % input->val_samples;/if (evaluates) return k % input->val_samples;/
