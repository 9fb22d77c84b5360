# The buffers of a sub-group are as large as the first one.
# file: core/lower/nvme.c
# tests: test_offload
s/s.end - s.first > most) most = s/s.end - s.first > most \&\& most == 0) most = s/
