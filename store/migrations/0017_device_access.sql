-- The steps close_door and open_door have new names. Quotes inside strings of a document are escaped, so this matches members only.
UPDATE onload SET document = replace(replace(document, '"act":"close_door"', '"act":"close_device_access"'),
                                     '"act":"open_door"', '"act":"open_device_access"')
  WHERE kind = 'operation';
