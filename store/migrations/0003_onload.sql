-- What Onload is to be on this node, and the operations that led there.

CREATE TABLE onload (
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  frozen     INTEGER NOT NULL CHECK (frozen IN (0, 1)),
  reason     TEXT NOT NULL                            -- of the freeze; empty: none was given
) STRICT;

CREATE TABLE onload_generation (
  number     INTEGER PRIMARY KEY CHECK (number >= 1),
  state      TEXT NOT NULL,                           -- "unmanaged", "unloaded", "loaded"
  version    TEXT NOT NULL,                           -- empty unless loaded
  sfc        TEXT NOT NULL,                           -- "external", "managed"
  users      TEXT NOT NULL,                           -- "fail", "wait", "term", "kill"
  drain_s    INTEGER NOT NULL CHECK (drain_s >= 0),
  on_failure TEXT NOT NULL,                           -- "rollback", "stop"
  created_ms INTEGER NOT NULL,                        -- since 1970, UTC
  verdict    TEXT NOT NULL,                           -- "pending", "verified", "failed"
  verified_ms INTEGER                                 -- NULL: not yet
) STRICT;

CREATE TABLE onload_parameter (
  generation INTEGER NOT NULL REFERENCES onload_generation (number) ON DELETE CASCADE,
  module     TEXT NOT NULL,
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  PRIMARY KEY (generation, module, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE onload_control_plane (                   -- words that the server is started with
  generation INTEGER NOT NULL REFERENCES onload_generation (number) ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  word       TEXT NOT NULL,
  PRIMARY KEY (generation, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE onload_operation (
  id         INTEGER PRIMARY KEY CHECK (id >= 1),
  generation INTEGER NOT NULL,
  fallback   INTEGER,                                 -- NULL: it did not turn back
  outcome    TEXT NOT NULL,                           -- "running", "succeeded", "rolled_back", "failed"
  started_ms INTEGER NOT NULL,
  finished_ms INTEGER,
  cause      TEXT NOT NULL,
  message    TEXT NOT NULL
) STRICT;

CREATE TABLE onload_step (
  operation  INTEGER NOT NULL REFERENCES onload_operation (id) ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  act        TEXT NOT NULL,
  subject    TEXT NOT NULL,
  progress   TEXT NOT NULL,                           -- "running", "done", "failed", "interrupted"
  started_ms INTEGER NOT NULL,
  finished_ms INTEGER,
  cause      TEXT NOT NULL,
  message    TEXT NOT NULL,
  kernel     TEXT NOT NULL,                           -- lines of the kernel's log
  PRIMARY KEY (operation, position)
) STRICT, WITHOUT ROWID;

INSERT INTO onload (only_row, frozen, reason) VALUES (1, 0, '');
