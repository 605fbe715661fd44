-- Rolling a key shortens its life, and the key that replaces it is to last as long as it was made
-- for, however often it is rolled. Null for a key that was made to last.
alter table keys add column original_expires_at timestamptz;

update keys set original_expires_at = expires_at;
