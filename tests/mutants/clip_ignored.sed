# The clip factor does not reach the update.
# file: core/config/loss_scale.h
# tests: golden_1
/grad_factor \*= rules->clip/d
