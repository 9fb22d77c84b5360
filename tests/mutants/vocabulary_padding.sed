# The softmax counts the padded columns of a vocabulary that tp does not divide.
# file: core/models/ends.c
# tests: grid3d_2 grid3d_4
s/op.dim\[2\] = l->plan->model->vocab_size/op.dim[2] = g->v * g->tp/
