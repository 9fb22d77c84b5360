# The fast clock takes a cluster whose pipelines stall their hosts and leaves the stalls out.
# file: fast/refuse.c
# tests: test_fast_refuse
s/if (cluster->pipeline_stall > 0 \&\& /if (cluster->pipeline_stall < 0 \&\& /
