# The time in which only the host updates is called idle nowhere and counted nowhere.
# file: core/run/timeline.c
# tests: test_timeline
s/  if (kept\[SL_KEPT_HOST\].count > 0) out->host_s = /  if (kept[SL_KEPT_HOST].count == 0) out->host_s = /
