/* Collects facts about the machine from /proc, sysconf and the libraries' own version functions; see environment.h. The
 * libraries are accessed through dlopen, so that core links none of them. */
#include "core/record/environment.h"

#include "core/base/machine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The processor's name ("" if /proc/cpuinfo does not have it). */
static void processor_name(char *out, size_t size) {
  char line[512];
  out[0] = '\0';
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (file == NULL) return;
  while (out[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "model name", 10) != 0 || strchr(line, ':') == NULL) continue;
    const char *name = strchr(line, ':') + 1;
    name += strspn(name, " \t");
    snprintf(out, size, "%.*s", (int)strcspn(name, "\n"), name);
  }
  fclose(file);
}

/* Calls the version function of each library; the symbol's type is known per library. */
static void openblas_version(void *handle, char *out, size_t size) {
  char *(*config)(void);
  void *symbol = dlsym(handle, "openblas_get_config");
  memcpy(&config, &symbol, sizeof config);
  if (symbol != NULL) snprintf(out, size, "%s", config());
}

static void mpi_version(void *handle, char *out, size_t size) {
  int (*version)(char *, int *);
  char text[8192] = "";
  int length = 0;
  void *symbol = dlsym(handle, "MPI_Get_library_version");
  memcpy(&version, &symbol, sizeof version);
  if (symbol == NULL || version(text, &length) != 0) return;
  /* Open MPI appends its packager and host: only the first part is a version */
  snprintf(out, size, "%.*s", (int)strcspn(text, ",\n"), text);
}

static void cuda_version(void *handle, char *out, size_t size) {
  int (*version)(int *), number = 0;
  void *symbol = dlsym(handle, "cuDriverGetVersion");
  memcpy(&version, &symbol, sizeof version);
  if (symbol != NULL && version(&number) == 0) snprintf(out, size, "CUDA %d.%d", number / 1000, number % 1000 / 10);
}

static const struct library {
  const char *name, *file;
  void (*version)(void *handle, char *out, size_t size);
} libraries[] = {
    {"openblas", "libopenblas.so.0", openblas_version},
    {"mpi", "libmpi.so.40", mpi_version},
    {"cuda", "libcuda.so.1", cuda_version},
};

enum { LIBRARIES = sizeof libraries / sizeof *libraries };

void sl_environment_library(const char *name, int load, char *out, size_t size) {
  out[0] = '\0';
  for (int i = 0; i < LIBRARIES; i++) {
    if (strcmp(libraries[i].name, name) != 0) continue;
    void *handle = dlopen(libraries[i].file, RTLD_LAZY | (load ? 0 : RTLD_NOLOAD));
    if (handle == NULL) return;
    snprintf(out, size, "present");
    libraries[i].version(handle, out, size);
    /* a loaded library stays loaded: MPI and OpenBLAS do not survive being unloaded */
    return;
  }
}

json_t *sl_environment_json(int threads) {
  char text[512];
  struct utsname system;
  json_t *object = json_object(), *versions = json_object();
  processor_name(text, sizeof text);
  if (text[0] != '\0') json_object_set_new(object, "cpu", json_string(text));
  json_object_set_new(object, "cores", json_integer(sl_machine_cores()));
  json_object_set_new(object, "memory_bytes",
                      json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) * (json_int_t)sysconf(_SC_PAGESIZE)));
  if (uname(&system) == 0) {
    snprintf(text, sizeof text, "%.60s %.60s %.60s", system.sysname, system.release, system.machine);
    json_object_set_new(object, "os", json_string(text));
  }
  if (threads > 0) json_object_set_new(object, "threads_per_rank", json_integer(threads));
  json_object_set_new(versions, "shardlab", json_string(SL_VERSION));
  json_object_set_new(versions, "jansson", json_string(JANSSON_VERSION));
  for (int i = 0; i < LIBRARIES; i++) {
    sl_environment_library(libraries[i].name, 0, text, sizeof text);
    if (text[0] != '\0') json_object_set_new(versions, libraries[i].name, json_string(text));
  }
  json_object_set_new(object, "versions", versions);
  return object;
}
