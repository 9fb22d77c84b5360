# Ten runs in a row are held out together, so that a fold has more than a tenth of one table.
# file: refit/folds.c
# tests: test_runs
s/weight > 0 ? place++ % SL_REFIT_ROW_FOLDS : -1/weight > 0 ? place++ \/ SL_REFIT_ROW_FOLDS % SL_REFIT_ROW_FOLDS : -1/
