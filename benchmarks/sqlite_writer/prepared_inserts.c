// prepared_inserts DATABASE ROWS: the rows of the benchmark through one prepared INSERT in one transaction, as fast as SQLite's own
// library does it: no journal, no wait for the disk.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int code, sqlite3* database) {
  if (code == SQLITE_OK || code == SQLITE_DONE) return;
  fprintf(stderr, "%s\n", sqlite3_errmsg(database));
  exit(1);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const int64_t rows = atoll(arguments[2]);
  sqlite3* database = NULL;
  sqlite3_stmt* insert = NULL;
  must(sqlite3_open(arguments[1], &database), database);
  must(sqlite3_exec(database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", NULL, NULL, NULL), database);
  must(sqlite3_prepare_v2(database, "INSERT INTO ops VALUES (?, ?, ?, ?, ?, ?, ?, ?)", -1, &insert, NULL), database);
  for (int64_t row = 0; row < rows; row++) {
    const int64_t start = 1700000000000000000 + row * 1000;
    const int64_t values[] = {row + 1, row % 4, row % 16, row, start, start + 700 + row % 100, row % 150, 1};
    for (int column = 0; column < 8; column++) sqlite3_bind_int64(insert, column + 1, values[column]);
    must(sqlite3_step(insert), database);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  must(sqlite3_exec(database, "COMMIT", NULL, NULL, NULL), database);
  return sqlite3_close(database);
}
