# A prediction traces as many steps as are asked for, though they repeat: files of many GB.
# file: cli/predict.c
# tests: test_cli
s/if (trace == NULL || options->steps <= SL_MAX_STEPS_TRACED) return SL_OK;/if (trace == NULL || options->steps <= SL_MAX_STEPS) return SL_OK;/
