-- What others wrote on frequencies that nrd had set.

CREATE TABLE frequency_of_others (                    -- written while a workload had the CPU; given back instead
  cpu        INTEGER NOT NULL PRIMARY KEY REFERENCES frequency_baseline (cpu) ON DELETE CASCADE,
  min_khz    INTEGER NOT NULL CHECK (min_khz >= 0),
  max_khz    INTEGER NOT NULL CHECK (max_khz >= 0),
  governor   TEXT NOT NULL,
  epp        TEXT NOT NULL
) STRICT;
