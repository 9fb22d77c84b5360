# A send of a simulated class goes to the class whose number is the pipeline rank's, whoever the member.
# file: sim/tables.c
# tests: test_sim
s/call->partner = sim->local_of\[peer\]/call->partner = sim->fold ? op->peer : peer/
