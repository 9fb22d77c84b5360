# What stands behind the cut of a state in two memories gets the gradients of what stands before it.
# file: core/lower/home.c
# tests: test_offload_train
s/    from.slice.offset += done \* element;//
