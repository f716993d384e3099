-- Workloads that belong to a process, and what was handed out to use Onload with.

CREATE TABLE workload_owner (                         -- no row: it stays until it is deleted
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  pid        INTEGER NOT NULL CHECK (pid >= 1),
  start      INTEGER NOT NULL CHECK (start >= 0),     -- clock ticks after boot
  boot_id    TEXT NOT NULL
) STRICT;

CREATE TABLE onload_allocation (
  id         INTEGER PRIMARY KEY CHECK (id >= 1),
  pid        INTEGER NOT NULL CHECK (pid >= 1),       -- of its owner, as above
  start      INTEGER NOT NULL CHECK (start >= 0),
  boot_id    TEXT NOT NULL,
  generation INTEGER NOT NULL CHECK (generation >= 1),
  version    TEXT NOT NULL,                           -- whose library it was given
  created_ms INTEGER NOT NULL
) STRICT;
