/* What the embedded profiles leave to the machine: the numbers of "localhost", and profiles that are found by name next
 * to the program. The profiles themselves are data: profiles/README.md. */
#include "core/cluster/presets.h"

#include "core/base/machine.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Memory of the machine, or of the container if that is less. */
static double memory_bytes(void) {
  double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  FILE *file = fopen("/sys/fs/cgroup/memory.max", "r");
  if (file == NULL) return bytes;
  int64_t limit;
  if (fscanf(file, "%" SCNd64, &limit) == 1 && (double)limit < bytes) bytes = (double)limit;
  fclose(file);
  return bytes;
}

void sl_cluster_preset_localhost(json_t *root) {
  json_t *device = json_object_get(root, "device");
  const int cores = sl_machine_cores();
  const double per_core = json_number_value(json_object_get(device, "memory_bandwidth_GBps"));
  json_object_set_new(root, "devices_per_node", json_integer(cores));
  json_object_set_new(device, "cores", json_integer(cores));
  json_object_set_new(device, "memory_bandwidth_GBps", json_real(per_core * cores));
  json_object_set_new(device, "memory_GiB", json_real(round(memory_bytes() / 0x1p30 * 1e6) / 1e6));
}

/* FOLDER/NAME.json in a folder next to `file`. */
static bool beside(const char *file, const char *const *folders, const char *name, char *path, size_t size) {
  const char *slash = strrchr(file, '/');
  const int length = slash != NULL ? (int)(slash - file) : 0;
  for (; slash != NULL && *folders != NULL; folders++) {
    const int wrote = snprintf(path, size, "%.*s/%s/%s.json", length, file, *folders, name);
    if (wrote > 0 && (size_t)wrote < size && access(path, F_OK) == 0) return true;
  }
  return false;
}

bool sl_profile_file(const char *name, char *path, size_t size) {
  static const char *const of_program[] = {"profiles", "../share/shardlab/profiles", NULL},
                           *const of_library[] = {"../share/shardlab/profiles", "../../share/shardlab/profiles", NULL};
  char program[4096];
  Dl_info library; /* the library that contains this code, whatever program has loaded it */
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  if (beside(program, of_program, name, path, size)) return true;
  return dladdr((void *)(uintptr_t)sl_profile_file, &library) != 0 && library.dli_fname != NULL &&
         beside(library.dli_fname, of_library, name, path, size);
}

bool sl_cluster_preset_file(const char *name, char *path, size_t size) {
  return strchr(name, '/') == NULL && sl_profile_file(name, path, size);
}
