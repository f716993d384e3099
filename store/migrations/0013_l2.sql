-- Ways of L2 caches on nodes that allocate these beside L3.

CREATE TABLE workload_l2 (                            -- asked for; no row: nothing
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  ways       INTEGER NOT NULL CHECK (ways >= 1),
  code_ways  INTEGER NOT NULL CHECK (code_ways >= 0 AND code_ways < ways)  -- 0: code and data share all
) STRICT;

CREATE TABLE workload_l2_ways (                       -- granted
  workload   INTEGER NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
  cache      INTEGER NOT NULL CHECK (cache >= 0),
  ways       INTEGER NOT NULL CHECK (ways > 0 AND ways <= 4294967295),  -- bit mask
  PRIMARY KEY (workload, cache)
) STRICT, WITHOUT ROWID;

CREATE TABLE l2_ways_baseline (
  clos       INTEGER NOT NULL CHECK (clos >= 0),
  cache      INTEGER NOT NULL CHECK (cache >= 0),
  ways       INTEGER NOT NULL CHECK (ways > 0 AND ways <= 4294967295),
  PRIMARY KEY (clos, cache)
) STRICT, WITHOUT ROWID;
