# A partition is gathered in as many calls as it has elements.
# file: core/lower/update.c
# tests: hostile_numbers
s/if (chunks > SL_MAX_GATHERS \/ l->plan->pp)/if (chunks > SL_MAX_GATHERS * l->plan->config->zero.reduce_bucket_size)/
