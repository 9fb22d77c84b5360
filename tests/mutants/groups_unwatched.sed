# Ranks wait without a limit for one that stops while groups are made.
# file: backend/host/open.c
# tests: faults_stops
s/sl_host_watch_begin(host->timeout_s, host->rank, "the start of groups");//
