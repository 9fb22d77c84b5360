# Behind the copied periods the last readers are taken to be those of before.
# file: core/place/copies.c
# tests: test_repeat
s/move_on(&x->read\[lane\], lane, since, jump)/(void)x, (void)lane/
