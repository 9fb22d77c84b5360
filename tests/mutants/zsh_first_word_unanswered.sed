# zsh defines the completion when it is first asked, and says nothing.
# file: cli/completion.c
# tests: test_cli_pages
s/if (zsh) fputs("\[ /if (false) fputs("[ /
