# A run that goes on does not tell TensorBoard which steps it takes again.
# file: core/monitor/monitor.c
# tests: monitor_own
s/  return monitor != NULL ? sl_events_purge(&monitor->events, after + 1) : SL_OK;/  return monitor != NULL \&\& after < 0 ? sl_events_purge(\&monitor->events, after) : SL_OK;/
