# A frame of which mpirun said no more turns what follows inside out: its notice is printed.
# file: cli/launch.c
# tests: test_cli_mpirun
s/n->inside = framed || !n->inside;/n->inside = !n->inside, (void)framed;/
