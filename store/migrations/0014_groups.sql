-- Groups of classes exist only while something is in them: the group is claimed as a whole, and removed, so that only the
-- root class has values to give back.

CREATE TABLE group_claim (                            -- made by nrd in this boot, or taken over from libpqos
  clos       INTEGER NOT NULL PRIMARY KEY CHECK (clos >= 1)
) STRICT;

INSERT INTO group_claim (clos)
  SELECT clos FROM ways_baseline WHERE clos > 0
  UNION SELECT clos FROM l2_ways_baseline WHERE clos > 0
  UNION SELECT clos FROM bandwidth_baseline WHERE clos > 0
  UNION SELECT clos FROM task_claim;
DELETE FROM ways_baseline WHERE clos > 0;
DELETE FROM l2_ways_baseline WHERE clos > 0;
DELETE FROM bandwidth_baseline WHERE clos > 0;
