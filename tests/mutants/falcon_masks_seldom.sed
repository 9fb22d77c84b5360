# Falcon's attention has a mask only where a window asks for one.
# file: core/model/falcon.c
# tests: test_kept
s/f->out_in = f->masks_always = /f->out_in = /
