# Of the elastic batches that equally many GPU counts divide, the smaller is taken.
# file: core/config/elastic.c
# tests: test_config_deepspeed
s/e->larger ? batch <= best/e->larger ? batch >= best \&\& best > 0/
