# Live memory is told at the time of each op, though one before it began later.
# file: core/run/trace_counters.c
# tests: traces
s/if (s->of->live_us\[space\]\[i\] > at_us) at_us/at_us/
