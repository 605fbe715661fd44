-- The key that created a key, itself or in a session of the dashboard. Null: a command on the server's
-- host created it.
alter table keys add column created_by uuid;
