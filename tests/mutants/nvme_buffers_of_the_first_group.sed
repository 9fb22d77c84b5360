# The buffers of a sub-group are as large as the first one.
# file: core/lower/nvme.c
# tests: test_offload
s/  while (sl_home_next(l, &s))$/  while (most == 0 \&\& sl_home_next(l, \&s))/
