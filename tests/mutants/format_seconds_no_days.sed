# A time of many days is said in hours.
# file: core/base/units.c
# tests: test_text
s/  else if (magnitude < 2 \* DAY)/  else if (magnitude < 20 * DAY)/
