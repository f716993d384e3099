-- Windows of CPU frequency: asked for, granted, and what was set before.

CREATE TABLE workload_frequency_request (             -- asked for; no row: nothing
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  unit       TEXT NOT NULL,                           -- "ratio", "mhz"
  min        INTEGER CHECK (min >= 0),                -- NULL: not given
  max        INTEGER CHECK (max >= 0),
  governor   TEXT NOT NULL,                           -- empty: not given
  epp        TEXT NOT NULL,
  turbo      INTEGER NOT NULL CHECK (turbo IN (0, 1)),
  allows_shared_domain INTEGER NOT NULL CHECK (allows_shared_domain IN (0, 1)),
  threshold  REAL CHECK (threshold > 0),              -- branch misses in percent of hits; NULL: not given
  is_monitored INTEGER NOT NULL CHECK (is_monitored IN (0, 1))
) STRICT;

CREATE TABLE workload_frequency (                     -- granted
  workload   INTEGER NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
  cpu        INTEGER NOT NULL CHECK (cpu >= 0),
  min_khz    INTEGER NOT NULL CHECK (min_khz >= 0),
  max_khz    INTEGER NOT NULL CHECK (max_khz >= min_khz),
  governor   TEXT NOT NULL,                           -- empty: stays as it is
  epp        TEXT NOT NULL,
  PRIMARY KEY (workload, cpu)
) STRICT, WITHOUT ROWID;

CREATE TABLE frequency_baseline (
  cpu        INTEGER NOT NULL PRIMARY KEY CHECK (cpu >= 0),
  min_khz    INTEGER NOT NULL CHECK (min_khz >= 0),
  max_khz    INTEGER NOT NULL CHECK (max_khz >= 0),
  governor   TEXT NOT NULL,
  epp        TEXT NOT NULL
) STRICT;
