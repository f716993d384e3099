-- The newest schema, whole. migrations/ lead to it from each released one; a test compares the two.
--
-- A document is JSON, with everything that is never asked for in SQL; engine/ describes its members.

CREATE TABLE node (
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  revision   INTEGER NOT NULL CHECK (revision >= 0),  -- grows by one with each commit
  next_id    INTEGER NOT NULL CHECK (next_id >= 1),   -- never goes back, so that no id is used twice
  boot_id    TEXT NOT NULL                            -- the boot the baselines were read in
) STRICT;

-- Documents: engine/model/documents.cc.
CREATE TABLE workload (
  id         INTEGER PRIMARY KEY CHECK (id >= 1),
  uuid       TEXT UNIQUE CHECK (uuid <> ''),          -- NULL: the client gave none
  given_id   TEXT UNIQUE CHECK (given_id <> ''),      -- NULL: its number is its id
  revision   INTEGER NOT NULL CHECK (revision >= 1),  -- grows by one with each change
  origin     TEXT NOT NULL,
  document   TEXT NOT NULL
) STRICT;

CREATE TABLE idempotency_key (                        -- of a creation that was stored
  key        TEXT NOT NULL PRIMARY KEY CHECK (key <> ''),
  request_hash TEXT NOT NULL,
  workload   INTEGER NOT NULL CHECK (workload >= 1),  -- stays when that is deleted
  created_ms INTEGER NOT NULL                         -- since 1970, UTC
) STRICT, WITHOUT ROWID;

-- What nrd found before its first write in this boot. Documents: engine/model/documents.cc.
CREATE TABLE baseline (
  kind       TEXT NOT NULL,                           -- "ways", "cpus", ...
  key        TEXT NOT NULL,                           -- JSON
  document   TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- Documents: engine/onload/documents.cc.
CREATE TABLE onload (
  kind       TEXT NOT NULL,                           -- "generation", "operation", ...
  key        TEXT NOT NULL,
  document   TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

INSERT INTO node (only_row, revision, next_id, boot_id) VALUES (1, 0, 1, '');
