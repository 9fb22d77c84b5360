# An op does not wait for the earlier writer of what it overwrites.
# file: core/place/waits.c
# tests: test_lowering grid3d_2
s/if (x->writer_lane >= 0) need/if (x->writer_lane >= 0 \&\& !use->writes) need/
