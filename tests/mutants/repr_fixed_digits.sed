# Numbers in CSV files have 17 digits, whatever they need.
# file: core/monitor/csv_series.c
# tests: test_monitor
s/int precision = 0;/int precision = 16;/
