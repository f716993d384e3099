-- Ids that clients chose, how often a workload has changed, and keys under which a creation may be asked for again.

CREATE TABLE workload_given_id (                      -- no row: its number is its id
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  id         TEXT NOT NULL UNIQUE CHECK (id <> '')
) STRICT;

CREATE TABLE workload_revision (                      -- no row: 1, as it was created
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  revision   INTEGER NOT NULL CHECK (revision > 1)    -- grows by one with each change
) STRICT;

CREATE TABLE idempotency_key (                        -- of a creation that was stored
  key        TEXT NOT NULL PRIMARY KEY CHECK (key <> ''),
  fingerprint TEXT NOT NULL,                          -- of the body it came with
  workload   INTEGER NOT NULL CHECK (workload >= 1),  -- stays when that is deleted
  created_ms INTEGER NOT NULL                         -- since 1970, UTC
) STRICT, WITHOUT ROWID;
