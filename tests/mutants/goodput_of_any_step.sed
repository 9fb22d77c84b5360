# The goodput is computed of steps that take no time, or for ever.
# file: analysis/goodput_command.c
# tests: goodput
s/if (!(out->step_s >= shortest_step_s \&\& out->step_s <= longest_step_s))/if (!(out->step_s > 0))/
