# On their way to NVMe, squares of gradients that all members of tp hold count on each of them.
# file: core/lower/grad_norm.c
# tests: offload_train_2
s/.count = piece, .times = times,/.count = piece, .times = 1,/
