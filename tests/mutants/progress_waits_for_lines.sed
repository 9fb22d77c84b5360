# Ranks' progress waits for the end of a line, which never comes.
# file: cli/relay.c
# tests: monitor_own
s/if (r->size == 0 || r->text\[0\] != '.r') return;/return;/
