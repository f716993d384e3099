-- The newest schema, whole. migrations/ lead to it step by step; a test compares the two.

CREATE TABLE node (
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  revision   INTEGER NOT NULL CHECK (revision >= 0),  -- grows by one with each commit
  next_id    INTEGER NOT NULL CHECK (next_id >= 1),   -- never goes back, so that no id is used twice
  boot_id    TEXT NOT NULL                            -- the boot the baselines were read in
) STRICT;

CREATE TABLE workload (
  id         INTEGER PRIMARY KEY CHECK (id >= 1),
  uuid       TEXT UNIQUE CHECK (uuid <> ''),          -- NULL: the client gave none
  origin     TEXT NOT NULL,
  max_ways   INTEGER NOT NULL CHECK (max_ways >= 0),
  min_ways   INTEGER NOT NULL CHECK (min_ways >= 0),
  pool       TEXT NOT NULL,
  clos       INTEGER NOT NULL CHECK (clos >= 0),
  created_ms INTEGER NOT NULL,                        -- since 1970, UTC
  updated_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE workload_core_ids (                      -- as the client wrote them
  workload   INTEGER NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  item       TEXT NOT NULL,
  PRIMARY KEY (workload, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE workload_ways (                          -- granted
  workload   INTEGER NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
  cache      INTEGER NOT NULL CHECK (cache >= 0),
  ways       INTEGER NOT NULL CHECK (ways > 0 AND ways <= 4294967295),  -- bit mask
  PRIMARY KEY (workload, cache)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE workload_owner (                         -- no row: it stays until it is deleted
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  pid        INTEGER NOT NULL CHECK (pid >= 1),
  start      INTEGER NOT NULL CHECK (start >= 0),     -- clock ticks after boot
  boot_id    TEXT NOT NULL
) STRICT;

CREATE TABLE workload_task (
  workload   INTEGER NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
  task       INTEGER NOT NULL CHECK (task >= 1),
  process    INTEGER NOT NULL CHECK (process >= 1),   -- whose thread it is; itself: all threads are meant
  start      INTEGER NOT NULL CHECK (start >= 0),     -- clock ticks after boot
  boot_id    TEXT NOT NULL,
  PRIMARY KEY (workload, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE workload_task_cpus (                     -- no row: it has no tasks
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  cpus       TEXT NOT NULL                            -- where they might run when they were named
) STRICT;

CREATE TABLE workload_code_ways (                     -- no row: code and data share all
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  ways       INTEGER NOT NULL CHECK (ways >= 1)
) STRICT;

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

CREATE TABLE workload_policy (                        -- no row: none was given
  workload   INTEGER PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
  name       TEXT NOT NULL CHECK (name <> '')
) STRICT;

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

CREATE TABLE ways_baseline (                          -- before nrd's first touch in this boot
  clos       INTEGER NOT NULL CHECK (clos >= 0),
  cache      INTEGER NOT NULL CHECK (cache >= 0),
  ways       INTEGER NOT NULL CHECK (ways > 0 AND ways <= 4294967295),
  PRIMARY KEY (clos, cache)
) STRICT, WITHOUT ROWID;

CREATE TABLE l2_ways_baseline (
  clos       INTEGER NOT NULL CHECK (clos >= 0),
  cache      INTEGER NOT NULL CHECK (cache >= 0),
  ways       INTEGER NOT NULL CHECK (ways > 0 AND ways <= 4294967295),
  PRIMARY KEY (clos, cache)
) STRICT, WITHOUT ROWID;

CREATE TABLE cpu_baseline (
  cpu        INTEGER NOT NULL PRIMARY KEY CHECK (cpu >= 0),
  clos       INTEGER NOT NULL CHECK (clos >= 0)
) STRICT;

CREATE TABLE group_claim (                            -- made by nrd in this boot, or taken over from libpqos
  clos       INTEGER NOT NULL PRIMARY KEY CHECK (clos >= 1)
) STRICT;

CREATE TABLE task_claim (                             -- moved into a class, and to be moved back
  task       INTEGER NOT NULL CHECK (task >= 1),
  start      INTEGER NOT NULL CHECK (start >= 0),
  clos       INTEGER NOT NULL CHECK (clos >= 1),
  process    INTEGER NOT NULL CHECK (process >= 1),
  boot_id    TEXT NOT NULL,
  PRIMARY KEY (task, start, clos)
) STRICT, WITHOUT ROWID;

CREATE TABLE bandwidth_baseline (
  clos       INTEGER NOT NULL CHECK (clos >= 0),
  cache      INTEGER NOT NULL CHECK (cache >= 0),
  unit       TEXT NOT NULL,
  value      INTEGER NOT NULL CHECK (value >= 0),
  PRIMARY KEY (clos, cache)
) STRICT, WITHOUT ROWID;

CREATE TABLE frequency_baseline (
  cpu        INTEGER NOT NULL PRIMARY KEY CHECK (cpu >= 0),
  min_khz    INTEGER NOT NULL CHECK (min_khz >= 0),
  max_khz    INTEGER NOT NULL CHECK (max_khz >= 0),
  governor   TEXT NOT NULL,
  epp        TEXT NOT NULL
) STRICT;

CREATE TABLE frequency_of_others (                    -- written while a workload had the CPU; given back instead
  cpu        INTEGER NOT NULL PRIMARY KEY REFERENCES frequency_baseline (cpu) ON DELETE CASCADE,
  min_khz    INTEGER NOT NULL CHECK (min_khz >= 0),
  max_khz    INTEGER NOT NULL CHECK (max_khz >= 0),
  governor   TEXT NOT NULL,
  epp        TEXT NOT NULL
) STRICT;

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

CREATE TABLE onload_drained (                         -- no row: its door is opened when Onload is ready
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1)
) STRICT;

CREATE TABLE onload_errand (                          -- no row: the operation brings its generation about
  operation  INTEGER PRIMARY KEY REFERENCES onload_operation (id) ON DELETE CASCADE,
  errand     TEXT NOT NULL,                           -- "drain", "undrain", "restart_control_plane"
  users      TEXT NOT NULL,                           -- of a drain: "fail", "wait", "term", "kill"
  drain_s    INTEGER NOT NULL CHECK (drain_s >= 0)
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

CREATE TABLE onload_interface (                       -- what is wanted of single ones
  pci        TEXT NOT NULL,                           -- empty: not on PCI
  mac        TEXT NOT NULL,
  accelerated INTEGER CHECK (accelerated IN (0, 1)),  -- NULL: nothing was said
  registered INTEGER CHECK (registered IN (0, 1)),    -- through AF_XDP
  PRIMARY KEY (pci, mac)
) STRICT, WITHOUT ROWID;

CREATE TABLE onload_noted_interface (                 -- of the driver, before an operation removed it
  operation  INTEGER NOT NULL REFERENCES onload_operation (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  pci        TEXT NOT NULL,
  mac        TEXT NOT NULL,
  PRIMARY KEY (operation, name)
) STRICT, WITHOUT ROWID;

INSERT INTO node (only_row, revision, next_id, boot_id) VALUES (1, 0, 1, '');
INSERT INTO onload (only_row, frozen, reason) VALUES (1, 0, '');
