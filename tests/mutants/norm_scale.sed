# A gradient that stands on all ranks counts on each: the norm is sqrt(dp) too large.
# file: core/lower/grad_norm.c
# tests: grid3d_2 golden_2
s/op.scale = (whole ? 1.0 : (double)s.group->members) \/ s.group->ranks \/ s.times;/op.scale = whole ? 1.0 : 1.0 \/ s.times;/
