# StableLM's branches follow each other, whatever the file says.
# file: core/model/stablelm.c
# tests: families_stablelm_parallel
s/f->residual = parallel ? SL_RESIDUAL_PARALLEL_ONE_NORM : SL_RESIDUAL_SEQUENTIAL;/f->residual = SL_RESIDUAL_SEQUENTIAL;/
