# GPT-2's eager attention casts its scores to fp32.
# file: core/model/gpt2.c
# tests: test_kept
s/f->small_residual_init = f->softmax_of_scores = true;/f->small_residual_init = true;/
