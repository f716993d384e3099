-- Memory bandwidth of workloads, and what classes had before.

CREATE TABLE workload_bandwidth_request (             -- asked for; no row: nothing
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  unit       TEXT NOT NULL,                           -- "percentage", "mbps"
  value      INTEGER NOT NULL CHECK (value >= 1)
) STRICT;

CREATE TABLE workload_bandwidth (                     -- granted
  workload   INTEGER NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
  cache      INTEGER NOT NULL CHECK (cache >= 0),
  unit       TEXT NOT NULL,                           -- the kernel's: "percent", "mbps", "eighths_of_gbps"
  value      INTEGER NOT NULL CHECK (value >= 0),
  PRIMARY KEY (workload, cache)
) STRICT, WITHOUT ROWID;

CREATE TABLE bandwidth_baseline (
  clos       INTEGER NOT NULL CHECK (clos >= 0),
  cache      INTEGER NOT NULL CHECK (cache >= 0),
  unit       TEXT NOT NULL,
  value      INTEGER NOT NULL CHECK (value >= 0),
  PRIMARY KEY (clos, cache)
) STRICT, WITHOUT ROWID;
