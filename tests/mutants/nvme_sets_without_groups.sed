# Host memory for three sub-groups, where there is one.
# file: core/lower/nvme.c
# tests: test_offload
s/  if (sets > asked) sets = asked;/  sets = asked;/
