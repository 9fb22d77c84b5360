# FSDP2's cast of a rank's part takes no memory on the stream of gathers.
# file: core/lower/flat_gather.c
# tests: test_torch_blocks
s/  most += cast;/  most += 0 * cast;/
