# Sub-groups that begin within max_in_cpu stay in host memory.
# file: core/lower/home.c
# tests: test_offload
s/  while (next_subgroup(&s) \&\& s.end <= most) end = s.end;/  while (end <= most \&\& next_subgroup(\&s)) end = s.end;/
