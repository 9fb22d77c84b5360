# Backends look for the neighbours of a pipeline as if stages were the slowest axis.
# file: backend/host/collect.c
# tests: rank_order_train_8
s/return sl_plan_rank(host->job->plan, peer);/return (void)peer, host->rank + (stage - host->coord.pp) * (host->world \/ host->job->plan->pp);/
