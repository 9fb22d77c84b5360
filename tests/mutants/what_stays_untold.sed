# The counter of live memory ends with the last op, not with what stays.
# file: core/run/trace_counters.c
# tests: traces
s/if (last \&\& r->live_peak_bytes > 0) tell_persistent(s, space);//
