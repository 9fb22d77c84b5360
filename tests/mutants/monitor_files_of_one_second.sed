# A run's event file has the name of the second it is made in, whatever files are there.
# file: core/monitor/events.c
# tests: test_monitor
s/ && made >= at) at = made + 1;/ \&\& made < 0) at = made;/
