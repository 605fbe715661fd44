-- The license key with which an assignment was claimed; null: an administrator made it.
alter table assignments add column claimed_with uuid;

-- Validations look at a user's licenses by place, then in the order of assignment. What a user has
-- claimed comes before what was there.
alter table assignments add column place integer not null default 0;
