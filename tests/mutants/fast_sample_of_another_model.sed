# The fast clock looks gradients up in the model as it was asked for, not as the kernel set packs it.
# file: fast/sample.c
# tests: test_fast_any test_fast
s/s->plan.model->tensors\[/s->model.tensors[/
