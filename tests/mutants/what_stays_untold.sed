# The counter of live memory of a prediction ends with the last op, not with what stays.
# file: core/run/trace_counters.c
# tests: traces
s/if (last \&\& r->live_peak_bytes > 0) tell_persistent(s, space);/if (last \&\& r->live_peak_bytes > 0 \&\& s->trace->measured) tell_persistent(s, space);/
