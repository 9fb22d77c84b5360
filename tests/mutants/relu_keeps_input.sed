# The backward of ReLU reads its input.
# file: core/models/activation.c
# tests: test_kept
s/activation == SL_ACTIVATION_RELU;/activation == SL_ACTIVATION_RELU \&\& false;/
