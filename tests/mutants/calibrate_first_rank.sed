# A step of several ranks has the times of rank 0, whoever made it.
# file: calibrate/record.c
# tests: test_points
s/if (compute > most) most/if (compute > most \&\& rank == 0) most/
