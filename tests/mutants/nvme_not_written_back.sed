# Updated optimizer states do not return to NVMe.
# file: core/lower/update.c
# tests: test_offload_train
s/(int)(i % sets), true));/(int)(i % sets), false));/
