# Updated optimizer states do not return to NVMe.
# file: core/lower/update.c
# tests: test_offload_train
s/piece, i % sets, true));/piece, i % sets, false));/
