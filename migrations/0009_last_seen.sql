-- When a user who holds no seat last had a valid validation.
alter table assignments add column last_seen_at timestamptz;
