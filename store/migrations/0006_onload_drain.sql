-- Onload's door kept shut, and operations that are no way to a generation.

CREATE TABLE onload_drained (                         -- no row: its door is opened when Onload is ready
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1)
) STRICT;

CREATE TABLE onload_errand (                          -- no row: the operation brings its generation about
  operation  INTEGER PRIMARY KEY REFERENCES onload_operation (id) ON DELETE CASCADE,
  errand     TEXT NOT NULL,                           -- "drain", "undrain", "restart_control_plane"
  users      TEXT NOT NULL,                           -- of a drain: "fail", "wait", "term", "kill"
  drain_s    INTEGER NOT NULL CHECK (drain_s >= 0)
) STRICT;
