-- What is wanted of single network interfaces of Onload, and what they were called before their driver was removed.

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
