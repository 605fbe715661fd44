-- When licd was last known to answer, in one row. After a gap of more than 90 seconds: when it was
-- back, and for how long it had been away.
create table uptime (
    one integer primary key check (one = 1),
    seen_at timestamptz not null,
    resumed_at timestamptz,
    away_seconds bigint
);
