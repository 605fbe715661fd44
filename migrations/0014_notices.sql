-- How far the events about the ends of licenses have come: each kind has been recorded for all licenses
-- whose moment is before reached_at, and of those at that moment for the ids up to license_id.
create table notices (
    kind text not null primary key,
    reached_at timestamptz not null,
    license_id uuid not null
);
