# Every rated run of a calibration on a GPU starts from random numbers, also a model.
# file: calibrate/record.c
# tests: test_noise
s/\.noise = c->noise}/.noise = c->gpu \&\& step == NULL}/
