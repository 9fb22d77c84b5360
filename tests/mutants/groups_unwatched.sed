# No rank limits the time in which groups are made: only the guard of a stopped rank ends the job.
# file: backend/host/open.c
# tests: faults_stops
/"the start of groups"/d
