-- Workloads that run with Onload.

CREATE TABLE workload_onload (                        -- no row: it does not
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  profiles_win INTEGER NOT NULL CHECK (profiles_win IN (0, 1)),
  generation INTEGER NOT NULL CHECK (generation >= 1),
  version    TEXT NOT NULL
) STRICT;

CREATE TABLE workload_onload_profile (                -- in the order in which they count
  workload   INTEGER NOT NULL REFERENCES workload_onload (workload) ON DELETE CASCADE,
  position   INTEGER NOT NULL CHECK (position >= 0),
  name       TEXT NOT NULL,
  PRIMARY KEY (workload, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE workload_onload_variable (               -- the client's own
  workload   INTEGER NOT NULL REFERENCES workload_onload (workload) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  PRIMARY KEY (workload, name)
) STRICT, WITHOUT ROWID;
