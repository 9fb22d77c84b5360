# Nobody ends a rank that has stopped after its last call.
# file: cli/measure.c
# tests: faults_stops
s/^    sl_guard_open(limit_s, place.rank);//
