# A monitor has the steps that are taken again twice.
# file: core/monitor/csv_series.c
# tests: recovery_two
s/else if (end < 0 \&\& atoll(line) > after)/else if (end < -1 \&\& atoll(line) > after)/
