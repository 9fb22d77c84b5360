/* label: unit
 * Files appear whole or not at all: nothing is left by what is dropped, refused or killed, and planted links are not
 * followed. */
#include "core/base/folders.h"
#include "core/base/made.h"
#include "core/base/new_file.h"
#include "core/base/remove.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char folder[] = "/tmp/shardlab-new-file-XXXXXX", path[64], other[64];

static int make_folder(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(path, sizeof path, "%s/out.json", folder);
  snprintf(other, sizeof other, "%s/victim", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder);
}

static int files_in_folder(void) {
  DIR *list = opendir(folder);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(list)) != NULL;)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(list);
  return count;
}

static void write_text(const char *name, const char *text) {
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void holds(const char *name, const char *text) {
  char found[64] = "";
  FILE *file = fopen(name, "r");
  assert_non_null(file);
  assert_true(fread(found, 1, sizeof found - 1, file) < sizeof found);
  fclose(file);
  assert_string_equal(found, text);
}

static void appears_when_complete(void **state) {
  (void)state;
  struct sl_new_file file;
  write_text(path, "old");
  assert_int_equal(sl_new_file_open(&file, path), SL_OK);
  fputs("new", file.stream);
  fflush(file.stream);
  holds(path, "old");
  assert_int_equal(sl_new_file_finish(&file), SL_OK);
  holds(path, "new");
  assert_int_equal(files_in_folder(), 1);
  struct stat info;
  const mode_t mask = umask(0);
  umask(mask);
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
  unlink(path);
}

static void dropped_leaves_nothing(void **state) {
  (void)state;
  struct sl_new_file file;
  assert_int_equal(sl_new_file_open(&file, path), SL_OK);
  fputs("half", file.stream);
  sl_new_file_discard(&file);
  sl_new_file_discard(&file);
  assert_int_equal(files_in_folder(), 0);
}

/* Under the name stands a link to another file, and under the hidden name, too. */
static void links_are_not_followed(void **state) {
  (void)state;
  struct sl_new_file file;
  write_text(other, "precious");
  assert_int_equal(symlink(other, path), 0);
  assert_int_equal(sl_new_file_open(&file, path), SL_OK);
  fputs("mine", file.stream);
  assert_int_equal(sl_new_file_finish(&file), SL_OK);
  holds(other, "precious");
  holds(path, "mine");
  char *hidden = sl_new_file_hidden(path, 3);
  assert_int_equal(symlink(other, hidden), 0);
  const int handle = sl_new_file_create(hidden);
  assert_true(handle > STDERR_FILENO);
  assert_int_equal(write(handle, "x", 1), 1);
  close(handle);
  holds(other, "precious");
  holds(hidden, "x");
  sl_new_file_drop(hidden);
  free(hidden);
  unlink(path);
  unlink(other);
  assert_int_equal(files_in_folder(), 0);
}

static bool is_pipe(const char *name) {
  struct stat info;
  return stat(name, &info) == 0 && S_ISFIFO(info.st_mode);
}

/* What is no plain file stays, also if it comes while the new file is written, or a link names it. */
static void what_is_no_plain_file_is_not_replaced(void **state) {
  (void)state;
  static const char says[] = "is not a plain file; expected a file to write";
  struct sl_new_file file;
  char told[256];
  assert_int_equal(mkfifo(other, 0600), 0);
  assert_int_equal(symlink(other, path), 0);
  const char *const names[] = {other, path, folder};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assert_int_equal(sl_new_file_open(&file, names[i]), SL_ERR_INPUT);
    snprintf(told, sizeof told, "%s: %s", names[i], says);
    assert_string_equal(sl_error_message(), told);
    sl_error_clear();
    assert_int_equal(sl_new_file_check("--json", names[i]), SL_ERR_INPUT);
    snprintf(told, sizeof told, "--json: %s: %s", names[i], says);
    assert_string_equal(sl_error_message(), told);
    sl_error_clear();
  }
  assert_true(is_pipe(other) && is_pipe(path));
  unlink(other); /* the link leads nowhere now, and is replaced */
  assert_int_equal(sl_new_file_check("--json", path), SL_OK);
  assert_int_equal(sl_new_file_check("--json", NULL), SL_OK);
  assert_int_equal(sl_new_file_open(&file, path), SL_OK);
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(sl_new_file_finish(&file), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), says));
  sl_error_clear();
  assert_true(is_pipe(path));
  unlink(path);
  assert_int_equal(files_in_folder(), 0);
}

/* A child that is killed while it writes one file of each kind. */
static void killed_by(int number, int left) {
  const pid_t child = fork();
  if (child == 0) {
    struct sl_new_file file;
    char *hidden = sl_new_file_hidden(path, 1);
    const bool good = sl_new_file_open(&file, path) == SL_OK && sl_new_file_create(hidden) >= 0;
    if (good) fputs("half", file.stream), fflush(file.stream), raise(number);
    _exit(1);
  }
  int end;
  assert_int_equal(waitpid(child, &end, 0), child);
  assert_true(WIFSIGNALED(end));
  assert_int_equal(WTERMSIG(end), number);
  assert_int_equal(files_in_folder(), left);
}

static void signals_leave_nothing(void **state) {
  (void)state;
  char job[24];
  sl_new_file_name_job(job, sizeof job);
  killed_by(SIGTERM, 0);
  killed_by(SIGINT, 0);
  killed_by(SIGHUP, 0);
  killed_by(SIGKILL, 1); /* the hidden file, which whoever started the job sweeps */
  sl_new_file_sweep(path, 2);
  sl_new_file_sweep(NULL, 2);
  assert_int_equal(files_in_folder(), 0);
}

/* A file that may not grow: an error that names it, and nothing left. */
static void too_large_is_an_error(void **state) {
  (void)state;
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit = {1000, 1000};
    struct sl_new_file file;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    if (sl_new_file_open(&file, path) != SL_OK) _exit(2);
    for (int i = 0; i < 5000; i++) fputc('x', file.stream);
    const bool said = sl_new_file_finish(&file) == SL_ERR_IO && strstr(sl_error_message(), path) != NULL;
    _exit(said ? 0 : 1);
  }
  int end;
  assert_int_equal(waitpid(child, &end, 0), child);
  assert_int_equal(end, 0);
  assert_int_equal(files_in_folder(), 0);
}

static void no_folder_is_an_error(void **state) {
  (void)state;
  struct sl_new_file file;
  sl_error_clear();
  assert_int_equal(sl_new_file_open(&file, "/no/such/folder/x"), SL_ERR_IO);
  assert_non_null(strstr(sl_error_message(), "/no/such/folder/x: cannot be created"));
  sl_error_clear();
}

/* With the standard streams closed no file becomes one of them. */
static void standard_streams_stay_free(void **state) {
  (void)state;
  const pid_t child = fork();
  if (child == 0) {
    struct sl_new_file file;
    close(0), close(1), close(2);
    char *hidden = sl_new_file_hidden(path, 1);
    const int handle = sl_new_file_create(hidden);
    const bool good = handle > 2 && sl_new_file_open(&file, path) == SL_OK && fileno(file.stream) > 2;
    sl_new_file_drop(hidden);
    sl_new_file_discard(&file);
    _exit(good ? 0 : 1);
  }
  int end;
  assert_int_equal(waitpid(child, &end, 0), child);
  assert_int_equal(end, 0);
}

/* All processes of a job find the same hidden name, and a child of it does; another part is another file. */
static void a_job_has_one_name(void **state) {
  (void)state;
  setenv("SHARDLAB_JOB", "0123456789abcdef", 1);
  char *a = sl_new_file_hidden("x/y.json", 0), *b = sl_new_file_hidden("x/y.json", 1);
  assert_string_equal(a, "x/.y.json.0123456789abcdef.0.tmp");
  assert_string_equal(b, "x/.y.json.0123456789abcdef.1.tmp");
  free(a), free(b);
  setenv("SHARDLAB_JOB", "../../etc/passwd", 1); /* a name and no path */
  a = sl_new_file_hidden("x", 0);
  assert_null(strchr(a, '/'));
  free(a);
}

/* A folder of two files, under its hidden name. */
static char *make_hidden(const char *text) {
  char *hidden = sl_new_file_hidden(path, 0), inside[300];
  assert_int_equal(sl_new_folder_create(hidden), SL_OK);
  snprintf(inside, sizeof inside, "%s/a", hidden);
  write_text(inside, text);
  snprintf(inside, sizeof inside, "%s/b", hidden);
  write_text(inside, text);
  return hidden;
}

static void folders_appear_whole(void **state) {
  (void)state;
  char inside[300];
  snprintf(inside, sizeof inside, "%s/a", path);
  for (int i = 0; i < 2; i++) { /* the second takes the place of the first */
    char *hidden = make_hidden(i == 0 ? "old" : "new");
    assert_int_equal(sl_new_folder_finish(hidden, path), SL_OK);
    holds(inside, i == 0 ? "old" : "new");
    assert_int_equal(files_in_folder(), 1);
    free(hidden);
  }
  sl_remove(path);
  assert_int_equal(files_in_folder(), 0);
}

static void folders_go_with_their_files(void **state) {
  (void)state;
  char *hidden = make_hidden("half");
  sl_new_file_drop(hidden);
  assert_int_equal(files_in_folder(), 0);
  free(hidden);
  free(make_hidden("half"));
  sl_new_file_sweep(path, 1); /* as who watches a job does when it has been killed */
  assert_int_equal(files_in_folder(), 0);
  const pid_t child = fork();
  if (child == 0) {
    (void)make_hidden("half");
    (void)raise(SIGTERM);
    _exit(1);
  }
  int end;
  assert_int_equal(waitpid(child, &end, 0), child);
  assert_true(WIFSIGNALED(end));
  assert_int_equal(files_in_folder(), 0);
}

/* Who removes what others left does not touch a folder that its writer holds, nor does a folder that a signal has begun
 * to remove get its name. */
/* A process that makes a folder, the folders above it first, and is ended when it has made `steps` of them. */
static void a_signal_removes_what_was_made_so_far(void **state) {
  (void)state;
  static const char *const names[] = {"a", "a/b", "a/b/c"};
  for (int steps = 0; steps <= 3; steps++) {
    const pid_t child = fork();
    if (child == 0) {
      char below[96];
      snprintf(below, sizeof below, "%s/%s", folder, names[2]);
      sl_made_name(below);
      sl_new_file_watch();
      for (int i = 0; i < steps; i++) {
        snprintf(below, sizeof below, "%s/%s", folder, names[i]);
        if (mkdir(below, 0777) != 0) _exit(1);
      }
      (void)raise(SIGTERM);
      _exit(0);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGTERM);
    assert_int_equal(files_in_folder(), 0);
  }
}

/* What was there before stays, and so does a folder in which something is. */
static void what_was_not_made_or_is_not_empty_stays(void **state) {
  (void)state;
  char above[96], below[104], file[128];
  snprintf(above, sizeof above, "%s/a", folder);
  snprintf(below, sizeof below, "%s/b", above);
  snprintf(file, sizeof file, "%s/file", below);
  assert_int_equal(mkdir(above, 0777), 0);
  sl_made_name(below);
  assert_int_equal(mkdir(below, 0777), 0);
  write_text(file, "x");
  sl_made_remove();
  assert_int_equal(unlink(file), 0);
  sl_made_remove();
  assert_int_equal(access(below, F_OK), -1);
  assert_int_equal(rmdir(above), 0);
}

static atomic_bool begun;

static void *create_files(void *hidden) {
  char file[128];
  for (int i = 0; i < 16; i++) { /* more than a rank's part of a checkpoint has */
    snprintf(file, sizeof file, "%s/%d", (const char *)hidden, i);
    const int handle = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    if (handle < 0) return NULL; /* the folder is gone */
    close(handle);
    atomic_store(&begun, true);
  }
  return NULL;
}

/* The thread that saves a checkpoint does not know that a signal has arrived. */
static void a_folder_goes_though_a_thread_fills_it(void **state) {
  (void)state;
  for (int i = 0; i < 50; i++) {
    pthread_t thread;
    atomic_store(&begun, false);
    assert_int_equal(mkdir(other, 0777), 0);
    assert_int_equal(pthread_create(&thread, NULL, create_files, other), 0);
    while (!atomic_load(&begun)) sched_yield();
    sl_remove(other);
    const bool gone = access(other, F_OK) != 0;
    if (!gone) assert_int_equal(rename(other, path), 0); /* ends the thread */
    pthread_join(thread, NULL);
    if (!gone) sl_remove(path);
    assert_true(gone);
  }
}

/* Also where access() says that it can: /sys and /proc do to root. */
static void a_folder_in_which_nothing_can_be_made_is_told(void **state) {
  (void)state;
  char below[96];
  snprintf(below, sizeof below, "%s/a/b", folder);
  assert_int_equal(sl_folders_check(below), 0);
  assert_int_equal(sl_folders_try(folder), 0);
  assert_int_equal(files_in_folder(), 0);
  assert_int_not_equal(sl_folders_check("/sys/shardlab"), 0);
  assert_int_not_equal(sl_folders_try("/sys"), 0);
  assert_int_not_equal(sl_folders_try("/proc"), 0);
}

static void folders_that_are_written_stay(void **state) {
  (void)state;
  char *hidden = sl_new_file_hidden(path, 0);
  assert_int_equal(sl_new_folder_create(hidden), SL_OK);
  const int lock = open(hidden, O_RDONLY | O_DIRECTORY);
  assert_int_equal(flock(lock, LOCK_EX), 0);
  sl_new_file_sweep(path, 1);
  assert_int_equal(files_in_folder(), 1);
  close(lock);
  sl_new_file_sweep(path, 1);
  assert_int_equal(files_in_folder(), 0);
  sl_new_file_drop(hidden);
  assert_int_equal(sl_new_folder_create(hidden), SL_OK);
  sl_new_file_drop_all();
  assert_int_equal(mkdir(hidden, 0777), 0); /* as if the handler had not come to its end */
  assert_int_equal(sl_new_folder_finish(hidden, path), SL_ERR_IO);
  assert_int_equal(rmdir(hidden), 0);
  free(hidden);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(appears_when_complete),
      cmocka_unit_test(dropped_leaves_nothing),
      cmocka_unit_test(folders_appear_whole),
      cmocka_unit_test(folders_go_with_their_files),
      cmocka_unit_test(links_are_not_followed),
      cmocka_unit_test(what_is_no_plain_file_is_not_replaced),
      cmocka_unit_test(signals_leave_nothing),
      cmocka_unit_test(too_large_is_an_error),
      cmocka_unit_test(no_folder_is_an_error),
      cmocka_unit_test(standard_streams_stay_free),
      cmocka_unit_test(a_job_has_one_name),
      cmocka_unit_test(folders_that_are_written_stay),
      cmocka_unit_test(a_signal_removes_what_was_made_so_far),
      cmocka_unit_test(what_was_not_made_or_is_not_empty_stays),
      cmocka_unit_test(a_folder_goes_though_a_thread_fills_it),
      cmocka_unit_test(a_folder_in_which_nothing_can_be_made_is_told),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
