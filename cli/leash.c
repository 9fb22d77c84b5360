/* Bytes that keep a node alive, read from its standard input; see leash.h. */
#include "cli/leash.h"

#include "core/base/machine.h"
#include "core/base/timeout.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool held, gone;
static double limit_s, heard_s;

enum sl_status sl_leash_take(void) {
  const char *value = getenv(SL_LEASH_VARIABLE);
  held = value != NULL && value[0] != '\0';
  (void)unsetenv(SL_LEASH_VARIABLE);
  heard_s = sl_machine_clock();
  return held ? sl_timeout_read(&limit_s) : SL_OK;
}

bool sl_leash_held(void) {
  return held;
}

bool sl_leash_holds(void) {
  char bytes[64];
  struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
  if (!held) return true;
  while (!gone && poll(&end, 1, 0) > 0) {
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0)
      heard_s = sl_machine_clock();
    else
      gone = true;
  }
  return !gone && sl_machine_clock() - heard_s <= limit_s;
}

void sl_leash_drop_input(void) {
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing > STDIN_FILENO) {
    dup2(nothing, STDIN_FILENO);
    close(nothing);
  }
}

void sl_leash_pull(int leash) {
  while (write(leash, ".", 1) < 0 && errno == EINTR) continue;
}
