# Sub-groups that begin within max_in_cpu stay in host memory.
# file: core/lower/home.c
# tests: test_offload
s/  while (sl_home_next(l, &s) \&\& s.end <= most) end = s.end;/  while (end <= most \&\& sl_home_next(l, \&s)) end = s.end;/
