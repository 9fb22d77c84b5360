# A build ends where as much is live as may be.
# file: core/place/arena.c
# tests: test_arena
s/r->live_peak_bytes > options->most_live/r->live_peak_bytes >= options->most_live/
