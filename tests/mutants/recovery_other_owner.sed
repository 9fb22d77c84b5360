# After a restart a job takes what it wrote before for another's.
# file: cli/training.c
# tests: recovery_two
s/, save.job = options->recovered->job;/;/
