# A pipeline with as many ranks as the model has blocks stalls its hosts.
# file: cost/collective.c
# tests: test_sim_host
s/blocks > pp/blocks >= pp/
