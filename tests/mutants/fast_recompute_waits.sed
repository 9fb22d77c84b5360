# What a stage recomputes waits for the gradient from behind.
# file: fast/schedule.c
# tests: test_fast
s/later(later(free_at + t->end, there + t->end_arrived), from + t->end_hosted)/later(later(free_at, there) + t->end, from + t->end_hosted)/
