# What passes in front of a stage has the width of what passes behind it.
# file: core/lower/step.c
# tests: grid3d_2 grid3d_4
s/(l->plan, behind ? c->first_layer + c->layer_count/(l->plan, behind || c->layer_count > 0 ? c->first_layer + c->layer_count/
