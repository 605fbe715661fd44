-- The terms of a license, copied from its plan. pending_days: it ends so many days after its first
-- validation, and waits for it. grace_ends_at: when the grace past its end is over. seats_idle_at: no
-- seat becomes idle before; null: not known.
alter table licenses add column seat_idle_minutes integer;

alter table licenses add column grace_days integer;

alter table licenses add column pending_days integer;

alter table licenses add column grace_ends_at timestamptz;

alter table licenses add column seats_idle_at timestamptz;
