# A calibration of one round claims the least noise from run to run, which it cannot know.
# file: analysis/fit_noise.c
# tests: test_cli_train
s/^  d->run_noise = 0;/  d->run_noise = least;/
