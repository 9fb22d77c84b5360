# cuBLAS works without memory of its own.
# file: core/place/replay.c
# tests: test_replay
s/if (r->workspaces\[line->which\] != NONE) return SL_OK;/if (r->pp != NULL) return SL_OK;/
