# What a stage recomputes waits for the gradient from behind.
# file: fast/schedule.c
# tests: test_fast
s/r->free_at\[stage\] = later(free_at + t->end, there + t->end_arrived);/r->free_at[stage] = later(free_at, there) + t->end;/
