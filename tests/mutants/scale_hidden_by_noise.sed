# All models count alike for error_scale, however much they differ from round to round.
# file: analysis/fit_holdout.c
# tests: test_fit_models
s/slope += form \* (misses\[i\].error \* misses\[i\].error - variance) \/ (variance \* variance);/slope += misses[i].error * misses[i].error \/ variance - 1;/
