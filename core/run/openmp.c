/* See openmp.h. */
#include "core/run/openmp.h"

#include "core/base/machine.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SAID_BYTES = 8192 };

/* ---- numbers of threads ---- */

static enum sl_status check_threads(const char *variable) {
  static const char list[] = "0123456789, ";
  const char *text = getenv(variable);
  if (text == NULL) return SL_OK;
  if (text[0] == '\0') return unsetenv(variable), SL_OK;
  if (atoi(text) > 0 && text[strspn(text, list)] == '\0') return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: is '%s'; expected a number of threads, from 1", variable, text);
}

/* ---- what libgomp says ---- */

static bool is_asked_anything(void) {
  for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
    if (strncmp(*variable, "OMP_", 4) == 0 || strncmp(*variable, "GOMP_", 5) == 0) return true;
  return false;
}

/* Loads libgomp while standard error is `file`; what it says goes into said[SAID_BYTES]. */
static void load_into(int file, char *said) {
  const int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  said[0] = '\0';
  if (before < 0 || dup2(file, STDERR_FILENO) < 0) {
    if (before >= 0) close(before);
    return;
  }
  (void)dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL); /* where there is none, the backend needs none */
  (void)dup2(before, STDERR_FILENO);
  close(before);
  const ssize_t size = pread(file, said, SAID_BYTES - 1, 0);
  said[size > 0 ? size : 0] = '\0';
}

/* The environment variable that a complaint speaks of: the first of its words that is the name of one. */
static bool find_variable(const char *said, char *name, size_t size) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  for (const char *at = strpbrk(said, letters); at != NULL; at = strpbrk(at, letters)) {
    const size_t length = strspn(at, letters);
    if ((strncmp(at, "OMP_", 4) == 0 || strncmp(at, "GOMP_", 5) == 0) && length < size) {
      snprintf(name, size, "%.*s", (int)length, at);
      if (getenv(name) != NULL) return true;
    }
    at += length;
  }
  return false;
}

static enum sl_status judge(const char *said) {
  static const char mark[] = "libgomp: ";
  const char *complaint = strstr(said, mark);
  char name[64];
  if (complaint == NULL) {
    fputs(said, stderr); /* what the user asked it to display */
    return SL_OK;
  }
  complaint += sizeof mark - 1;
  const int length = (int)strcspn(complaint, "\n");
  if (!find_variable(complaint, name, sizeof name))
    return sl_fail(SL_ERR_INPUT, "OpenMP's environment variables: libgomp says '%.*s'", length, complaint);
  return sl_fail(SL_ERR_INPUT, "%s: is '%s'; expected a value that OpenMP has: libgomp says '%.*s'", name, getenv(name),
                 length, complaint);
}

/* ---- stacks ---- */

/* The bytes that OMP_STACKSIZE asks for: a number in KiB, or with a letter for its unit. */
static unsigned long long stack_bytes(const char *text) {
  static const char units[] = "BKMG";
  char *end;
  const unsigned long long number = strtoull(text, &end, 10);
  end += strspn(end, " ");
  const char *unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : units + 1;
  const int shift = unit != NULL ? 10 * (int)(unit - units) : 10;
  return number << shift >> shift == number ? number << shift : ULLONG_MAX;
}

/* Begins when it can take the lock, and so only after all others have their stacks, too. */
static void *stand(void *lock) {
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
  return NULL;
}

/* Whether as many threads as there are cores have room for stacks of `bytes`: libgomp would end the process without. */
static int try_stacks(size_t bytes) {
  enum { MOST = 1024 };
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_t threads[MOST];
  pthread_attr_t form;
  const int cores = sl_machine_cores();
  int why = pthread_attr_init(&form), count = 0;
  if (why != 0) return why;
  why = pthread_attr_setstacksize(&form, bytes);
  pthread_mutex_lock(&lock);
  while (why == 0 && count < MOST && count + 1 < cores) {
    why = pthread_create(&threads[count], &form, stand, &lock);
    count += why == 0;
  }
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  pthread_attr_destroy(&form);
  return why;
}

static enum sl_status check_stacks(void) {
  static const char *const variables[] = {"OMP_STACKSIZE", "GOMP_STACKSIZE"}; /* the first that is set counts */
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *text = getenv(variables[i]);
    if (text == NULL) continue;
    const int why = try_stacks((size_t)stack_bytes(text));
    if (why == 0) return SL_OK;
    return sl_fail(SL_ERR_INPUT, "%s: is '%s'; expected stacks that %d threads have room for: %s", variables[i], text,
                   sl_machine_cores(), strerror(why));
  }
  return SL_OK;
}

enum sl_status sl_openmp_load(void) {
  char said[SAID_BYTES];
  SL_TRY(check_threads("OMP_NUM_THREADS"));
  SL_TRY(check_threads("OPENBLAS_NUM_THREADS"));
  void *loaded = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (loaded != NULL) return dlclose(loaded), SL_OK;
  if (!is_asked_anything()) return SL_OK;
  const int file = memfd_create("said", MFD_CLOEXEC);
  if (file < 0) return SL_OK; /* it speaks for itself when the backend loads it */
  load_into(file, said);
  close(file);
  SL_TRY(judge(said));
  return check_stacks();
}
