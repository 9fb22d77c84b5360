# A file of a monitor that could not be opened is written to the next time.
# file: core/monitor/csv_series.c
# tests: test_monitor
s/if (status != SL_OK) return free_file(file), status;/if (status != SL_OK) return series->count++, status;/
