-- Says of a key that it was rolled, and when; null: never. Until then its end is the one it was made
-- with, also for a key that a node of an older release has made, which knows no original_expires_at.
alter table keys add column rolled_at timestamptz;

-- When is no longer known.
update keys set rolled_at = created_at
where original_expires_at is not null and expires_at < original_expires_at;
