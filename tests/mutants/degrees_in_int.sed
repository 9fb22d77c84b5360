# tp x pp is formed in int.
# file: core/plan/plan.c
# tests: test_limits
s/const int64_t replica = .*/const int replica = config->sl.tp * config->sl.pp;/
