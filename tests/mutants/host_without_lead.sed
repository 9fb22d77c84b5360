# The host launches an op only when the device is free for it.
# file: sim/ahead.h
# tests: test_sim_host
s/return \*host > now ? \*host : now;/return *host = (*host > now ? *host : now);/
