# The queue does not play the games of a row whose first event has left.
# file: sim/queue.c
# tests: test_sim_cost
s/^  play(queue, queue->late);//
