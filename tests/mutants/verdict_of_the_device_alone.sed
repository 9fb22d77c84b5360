# A verdict looks at the device alone.
# file: core/run/fits.c
# tests: test_cli_verdict
s/for (int s = 0; s < SL_SPACE_COUNT; s++) out->fits/for (int s = 0; s < 1; s++) out->fits/
