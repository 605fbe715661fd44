-- Numbers of a plan on a day, written every hour of the day and kept for ten years.
create table plan_days (
    world integer not null references worlds (id),
    -- The start of the day.
    day timestamptz not null,
    -- The nil id: all plans, and the highest id: all but those of trials. Those have only `active`.
    plan_id uuid not null,
    licenses bigint not null,
    seats bigint not null,
    unlimited bigint not null,
    held_limited bigint not null,
    held_unlimited bigint not null,
    active bigint not null,
    full_seats bigint not null,
    over_seats bigint not null,
    waiting bigint not null,
    waiting_seats bigint not null,
    started bigint not null,
    ended bigint not null,
    primary key (world, day, plan_id)
);

create index plan_days_by_age on plan_days (day) where world > 0;

-- Number of validations per day and outcome, written and kept as `outcomes` are, but for 400 days.
create table outcome_days (
    world integer not null references worlds (id),
    -- The start of the day.
    day timestamptz not null,
    outcome text not null,
    count bigint not null,
    primary key (world, day, outcome)
);

create index outcome_days_by_age on outcome_days (day) where world > 0;
