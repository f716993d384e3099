-- A database of schema 17, 0.2.0's. Not to be edited: later versions must open it.

PRAGMA application_id = 1852990513;
PRAGMA user_version = 17;

CREATE TABLE node (
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  revision   INTEGER NOT NULL CHECK (revision >= 0),  -- grows by one with each commit
  next_id    INTEGER NOT NULL CHECK (next_id >= 1),   -- never goes back, so that no id is used twice
  boot_id    TEXT NOT NULL                            -- the boot the baselines were read in
) STRICT;

-- Documents: engine/model/workload_document.cc.
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

-- What nrd found before its first write in this boot. Documents: engine/model/baseline_documents.cc.
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

INSERT INTO node VALUES (1, 5, 4, 'boot-1');
INSERT INTO workload VALUES (1, NULL, NULL, 1, 'REST', '{"spec":{"core_ids":["8"],"cache":{"max":2,"min":2}},"grant":{"pool":"guarantee","clos":1,"ways":[["0","3"]]},"created":1700000000123,"updated":1700000000123,"member_of_a_later_nrd":{"a":1}}');
INSERT INTO workload VALUES (3, 'u', 'web', 7, 'OPENSTACK', '{"spec":{"core_ids":["4-7","9","4"],"policy":"gold","cache":{"max":3,"min":1,"code":1},"l2":{"ways":4,"code":1},"mba":{"percentage":null,"mbps":5000},"frequency":{"min_ratio":null,"max_ratio":null,"min_mhz":1200,"max_mhz":3000,"governor":"powersave","epp":"power","ratio":0.1,"monitoring":"off","turbo":false,"shared_domain":"allow"},"owner":{"pid":4711,"start":18446744073709551615,"boot_id":"boot-1"},"onload":{"profiles":["b","a"],"env":[["EF_A","1"],["EF_B",""]],"profiles_win":true,"generation":2,"version":"9.0"},"tasks":[{"id":4711,"process":4711,"start":99,"boot_id":"boot-1"},{"id":4712,"process":4711,"start":99,"boot_id":"boot-1"}],"task_cpus":"0-2"},"grant":{"pool":"besteffort","clos":2,"ways":[["0","30"],["L2:0","f"],["7","ffffffff"]],"frequencies":[["4-5",{"min_khz":1200000,"max_khz":3000000,"governor":"powersave","epp":null}],["9",{"min_khz":1200000,"max_khz":2000000,"governor":null,"epp":"power"}]],"bandwidth":[["0",{"unit":"percent","value":50}],["7",{"unit":"eighths_of_gbps","value":2048}]]},"created":1700000000123,"updated":1700000000456}');
INSERT INTO idempotency_key VALUES ('k1', 'f-k1', 1, 1700000000001);
INSERT INTO baseline VALUES ('ways', '[0,"0"]', '"7ff"');
INSERT INTO baseline VALUES ('cpu', '4', '0');
INSERT INTO baseline VALUES ('frequency', '4', '{"min_khz":800000,"max_khz":3500000,"governor":"powersave","epp":"power"}');
INSERT INTO baseline VALUES ('external_frequency', '4', '{"min_khz":800000,"max_khz":2000000,"governor":"powersave","epp":"power"}');
INSERT INTO baseline VALUES ('group', '2', '{}');
INSERT INTO baseline VALUES ('task', '{"task":{"id":4711,"process":4711,"start":99,"boot_id":"boot-1"},"clos":2}', '{}');
INSERT INTO onload VALUES ('freeze', '', '{"frozen":true,"reason":"release night"}');
INSERT INTO onload VALUES ('drained', '', '{}');
INSERT INTO onload VALUES ('generation', '2', '{"number":2,"spec":{"state":"loaded","version":"9.0.1","sfc":"managed","parameters":[["onload",[["epoll_max_stacks","8"],["max_packets_per_stack","1024"]]],["sfc",[["rss_cpus","4"]]]],"control_plane":["-K","-h","8"],"users":"term","drain_s":45,"on_failure":"stop"},"created":1700000000123,"verdict":"verified","verified":1700000000999}');
INSERT INTO onload VALUES ('operation', '1', '{"id":1,"generation":2,"fallback":0,"outcome":"running","started":1700000000500,"cause":"syscall_table","message":"the kernel is too new","steps":[{"act":"close_device_access","progress":"done","started":1700000000400,"finished":1700000000500,"cause":null,"message":null,"kernel":null},{"act":"insert","subject":"onload","progress":"failed","started":1700000000500,"finished":1700000000500,"cause":"syscall_table","message":"no","kernel":["one","two"]},{"act":"remove","subject":"sfc_char","progress":"running","started":1700000000500,"finished":null,"cause":null,"message":null,"kernel":null}],"kind":"drain","users":"term","drain_s":7,"interfaces":[{"pci":"0000:03:00.0","mac":"00:0f:53:00:00:01","name":"enp3s0f0"},{"pci":"","mac":"00:0f:53:00:00:02","name":"enp3s0f1"}]}');
INSERT INTO onload VALUES ('allocation', '1', '{"id":1,"owner":{"pid":4711,"start":123456789,"boot_id":"boot-1"},"generation":2,"version":"9.0.1","created":1700000000321}');
INSERT INTO onload VALUES ('interface', '0000:03:00.0 00:0f:53:00:00:01', '{"pci":"0000:03:00.0","mac":"00:0f:53:00:00:01","accelerated":false}');
