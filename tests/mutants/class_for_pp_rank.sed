# A send of a simulated class goes to the class whose number is the pipeline rank's, whoever the member.
# file: sim/tables.c
# tests: test_sim
s/sl_job_class_of(sim->job, peer) : peer/op->peer : peer/
