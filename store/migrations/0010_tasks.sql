-- Processes and threads that workloads are for, and those that nrd has moved into a class.

CREATE TABLE workload_task (
  workload   INTEGER NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
  task       INTEGER NOT NULL CHECK (task >= 1),
  process    INTEGER NOT NULL CHECK (process >= 1),   -- whose thread it is; itself: all threads are meant
  start      INTEGER NOT NULL CHECK (start >= 0),     -- clock ticks after boot
  boot_id    TEXT NOT NULL,
  PRIMARY KEY (workload, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE workload_task_cpus (                     -- no row: it has no tasks
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  cpus       TEXT NOT NULL                            -- where they might run when they were named
) STRICT;

CREATE TABLE task_claim (                             -- moved into a class, and to be moved back
  task       INTEGER NOT NULL CHECK (task >= 1),
  start      INTEGER NOT NULL CHECK (start >= 0),
  clos       INTEGER NOT NULL CHECK (clos >= 1),
  process    INTEGER NOT NULL CHECK (process >= 1),
  boot_id    TEXT NOT NULL,
  PRIMARY KEY (task, start, clos)
) STRICT, WITHOUT ROWID;
