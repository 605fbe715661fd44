-- Terms of licenses made from a plan; null: none. seat_idle_minutes: seats that nobody validated for
-- so long may be taken over. grace_days: valid for so long past the end. expires_from: whether the
-- days count from the creation or from the first validation.
alter table plans add column seat_idle_minutes integer;

alter table plans add column grace_days integer;

alter table plans add column expires_from text;
