-- Ways that code has for itself (CDP).

CREATE TABLE workload_code_ways (                     -- no row: code and data share all
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  ways       INTEGER NOT NULL CHECK (ways >= 1)
) STRICT;
