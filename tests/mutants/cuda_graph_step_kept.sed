# A step that is a graph draws the dropout of the step that it was recorded after, in all of its launches.
# file: backend/cuda/dispatch.c
# tests: test_cuda_graph
s/recording ? g->step_here/recording ? NULL/
