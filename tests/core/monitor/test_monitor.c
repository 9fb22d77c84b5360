/* label: unit
 * Monitors: checksums, numbers as Python writes them, files that are gone on with, and disks that are full. */
#include "core/monitor/csv_series.h"
#include "core/monitor/events.h"
#include "core/monitor/monitor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

/* RFC 3720, B.4, and the check value of CRC-32C. */
static void checksums(void **state) {
  unsigned char bytes[32] = {0};
  (void)state;
  assert_int_equal(sl_crc32c("123456789", 9), 0xe3069283);
  assert_int_equal(sl_crc32c(bytes, 32), 0x8a9136aa);
  memset(bytes, 0xff, sizeof bytes);
  assert_int_equal(sl_crc32c(bytes, 32), 0x62a8ab43);
  for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
  assert_int_equal(sl_crc32c(bytes, 32), 0x46dd794e);
  assert_int_equal(sl_crc32c("", 0), 0);
}

/* What repr() of CPython 3.11 gives. */
static void numbers(void **state) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0.0"},
               {-0.0, "-0.0"},
               {1, "1.0"},
               {0.1, "0.1"},
               {0.001, "0.001"},
               {1e-4, "0.0001"},
               {1e-5, "1e-05"},
               {1.5e-7, "1.5e-07"},
               {65536, "65536.0"},
               {123456789012345.0, "123456789012345.0"},
               {1e15, "1000000000000000.0"},
               {1e16, "1e+16"},
               {1.25e22, "1.25e+22"},
               {5.5794566638775756, "5.5794566638775756"},
               {1.0 / 3, "0.3333333333333333"},
               {-2.5, "-2.5"},
               {1e300, "1e+300"},
               {5e-324, "5e-324"},
               {0.30000000000000004, "0.30000000000000004"},
               {100, "100.0"},
               {1234.5, "1234.5"},
               {9007199254740993.0, "9007199254740992.0"},
               {INFINITY, "inf"},
               {-INFINITY, "-inf"},
               {NAN, "nan"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[40];
    sl_python_repr(text, sizeof text, cases[i].value);
    assert_string_equal(text, cases[i].text);
  }
}

static void check_file(const char *path, const char *want) {
  char text[512];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  assert_string_equal(text, want);
}

static void a_run_goes_on_with_its_files(void **state) {
  static const char folder[] = "test_monitor_csv";
  const struct sl_monitor_place csv = {true, folder, "a job"}, none = {false, "", ""};
  struct sl_monitor *m;
  (void)state;
  assert_int_equal(system("rm -rf test_monitor_csv"), 0);
  for (int run = 0; run < 2; run++) {
    assert_int_equal(sl_monitor_open(&m, &csv, &none), SL_OK);
    assert_int_equal(sl_monitor_write(m, "Train/Samples/lr", 0.25, 16), SL_OK);
    assert_int_equal(sl_monitor_write(m, "Train/Samples/lr", 1e-5, 32), SL_OK);
    assert_int_equal(sl_monitor_write(m, "a name", 1, 1), SL_OK);
    assert_int_equal(sl_monitor_flush(m), SL_OK);
    sl_monitor_close(m);
  }
  check_file("test_monitor_csv/a job/Train_Samples_lr.csv",
             "step,lr\r\n16,0.25\r\n32,1e-05\r\nstep,lr\r\n16,0.25\r\n32,1e-05\r\n");
  check_file("test_monitor_csv/a job/a_name.csv", "step,a name\r\n1,1.0\r\nstep,a name\r\n1,1.0\r\n");
  assert_int_equal(system("rm -r test_monitor_csv"), 0);
}

/* Readers take a folder's event files by name: a later one of the same second has a later name. */
static void event_files_are_in_order(void **state) {
  struct sl_events events[3];
  (void)state;
  assert_int_equal(system("rm -rf test_monitor_events && mkdir test_monitor_events"), 0);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(sl_events_open(&events[i], "test_monitor_events"), SL_OK);
    if (i > 0)
      assert_true(strncmp(events[i - 1].path, events[i].path, strlen("test_monitor_events/events.out.tfevents.") + 10) <
                  0);
  }
  for (int i = 0; i < 3; i++) sl_events_close(&events[i]);
  assert_int_equal(system("rm -r test_monitor_events"), 0);
}

static void nothing_is_asked_for(void **state) {
  const struct sl_monitor_place none = {false, "/nowhere/at all", "x"};
  struct sl_monitor *m;
  (void)state;
  assert_int_equal(sl_monitor_open(&m, &none, &none), SL_OK);
  assert_null(m);
  assert_int_equal(sl_monitor_write(m, "x", 1, 1), SL_OK);
  assert_int_equal(sl_monitor_flush(m), SL_OK);
  sl_monitor_close(m);
}

/* Neither what is written next nor a flush finds a file that was never opened. */
static void a_file_that_is_a_folder_is_refused_each_time(void **state) {
  const struct sl_monitor_place csv = {true, "test_monitor_folder", "job"}, none = {false, "", ""};
  struct sl_monitor *m;
  (void)state;
  assert_int_equal(system("rm -rf test_monitor_folder && mkdir -p test_monitor_folder/job/lr.csv"), 0);
  assert_int_equal(sl_monitor_open(&m, &csv, &none), SL_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(sl_monitor_write(m, "lr", 0.25, 16), SL_ERR_IO);
    assert_non_null(strstr(sl_error_message(), "test_monitor_folder/job/lr.csv: Is a directory"));
    sl_error_clear();
  }
  assert_int_equal(sl_monitor_flush(m), SL_OK);
  sl_monitor_close(m);
  assert_int_equal(system("rm -r test_monitor_folder"), 0);
}

static void what_the_system_refuses(void **state) {
  const struct sl_monitor_place none = {false, "", ""}, under_a_file = {true, "/dev/null", "x"};
  char long_name[300];
  struct sl_monitor *m;
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    sl_error_clear();
    assert_int_equal(sl_monitor_open(&m, kind ? &under_a_file : &none, kind ? &none : &under_a_file), SL_ERR_IO);
    assert_null(m);
    assert_non_null(strstr(sl_error_message(), "/dev/null/x: cannot be made: "));
  }
  sl_error_clear();
  /* a disk without room */
  struct sl_csv_series series = {.folder = strdup("/dev")};
  assert_int_equal(sl_grow(&series.files, &series.capacity, 1, sizeof *series.files), SL_OK);
  series.files[series.count++] = (struct sl_csv_file){strdup("x"), strdup("/dev/full"), fopen("/dev/full", "w")};
  assert_int_equal(sl_csv_series_write(&series, "x", 1, 1), SL_OK);
  assert_int_equal(sl_csv_series_flush(&series), SL_ERR_IO);
  assert_string_equal(sl_error_message(), "/dev/full: No space left on device");
  sl_csv_series_free(&series);
  sl_error_clear();
  struct sl_events events = {.path = strdup("/dev/full"), .stream = fopen("/dev/full", "w")};
  memset(long_name, 'n', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  assert_int_equal(sl_events_write(&events, long_name, 1, 1), SL_ERR_INPUT);
  sl_error_clear();
  assert_int_equal(sl_events_write(&events, long_name + 44, 1, -1), SL_OK);
  assert_int_equal(sl_events_flush(&events), SL_ERR_IO);
  sl_error_clear();
  sl_events_close(&events);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(checksums),
                                     cmocka_unit_test(numbers),
                                     cmocka_unit_test(a_run_goes_on_with_its_files),
                                     cmocka_unit_test(event_files_are_in_order),
                                     cmocka_unit_test(nothing_is_asked_for),
                                     cmocka_unit_test(a_file_that_is_a_folder_is_refused_each_time),
                                     cmocka_unit_test(what_the_system_refuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
