# The fast clock forgets copies for communication beside what the next block recomputes.
# file: fast/ring.c
# tests: test_fast
s/if (r->buckets > 0) r->last.left = larger(r->last.left, most);/(void)r, (void)most;/
