-- Policies: the name that a client gave.

CREATE TABLE workload_policy (                        -- no row: none was given
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  name       TEXT NOT NULL CHECK (name <> '')
) STRICT;
