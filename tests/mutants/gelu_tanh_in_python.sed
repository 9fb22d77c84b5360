# gelu_pytorch_tanh is computed as gelu_new.
# file: core/model/keys.c
# tests: test_kept
s/"gelu_pytorch_tanh", SL_ACTIVATION_GELU_TANH, true/"gelu_pytorch_tanh", SL_ACTIVATION_GELU_TANH, false/
