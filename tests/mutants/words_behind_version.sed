# Words behind --version and --help are passed over.
# file: cli/main.c
# tests: test_cli
s/  if (argc <= most) return SL_OK;/  if (argc <= most || most == 0) return SL_OK;/
