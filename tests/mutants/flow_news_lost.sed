# Members of a group that another thread walks over do not learn that its call is complete.
# file: sim/flow.c
# tests: test_sim_flow
s/if (m->across \&\& all) tell_members/if (false) tell_members/
