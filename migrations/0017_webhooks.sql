-- Where events are sent. A webhook is a reader of its world's events: up to `sequence` each was
-- delivered, given up, or waits in a hold.
create table webhooks (
    id uuid not null,
    world integer not null references worlds (id),
    url text not null,
    description text,
    -- The types that are sent, such as seat.taken and license.*; null: all.
    event_types json,
    -- Sealed. The first signs for good, each other until the end of its overlap.
    secrets json not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- What follows is written by the node that sends.
    sequence bigint not null,
    -- Since when nothing was delivered, how often in a row, and when it is tried again.
    failing_since timestamptz,
    attempts integer not null,
    next_attempt_at timestamptz,
    last_success_at timestamptz,
    last_status integer,
    disabled_at timestamptz,
    disabled_reason text,
    -- The node that sends holds a claim, a random number, until a moment by the database's clock.
    claim bigint,
    claimed_until timestamptz,
    primary key (id, world)
);

create index webhooks_by_world on webhooks (world, id) where world > 0;

-- A subject whose next event a receiver refused, so that others go on: a cursor of its own, at the
-- event to try next. It ends at the webhook's own.
create table webhook_holds (
    webhook_id uuid not null,
    world integer not null,
    subject_id text not null,
    sequence bigint not null,
    attempts integer not null,
    refusals integer not null,
    -- When this event was first refused.
    since timestamptz not null,
    next_attempt_at timestamptz not null,
    primary key (webhook_id, subject_id, world),
    foreign key (webhook_id, world) references webhooks (id, world)
);

-- Attempts that failed, for support. An event that was given up has one row.
create table webhook_failures (
    id uuid not null,
    webhook_id uuid not null,
    world integer not null,
    -- Null: the events were deleted before they could be sent.
    event_id uuid,
    sequence bigint not null,
    attempt integer not null,
    gave_up boolean not null,
    error text not null,
    status integer,
    response text,
    duration_ms integer not null,
    at timestamptz not null,
    primary key (id, world),
    foreign key (webhook_id, world) references webhooks (id, world)
);

create index webhook_failures_by_webhook on webhook_failures (webhook_id, world, gave_up, id);

create index webhook_failures_by_age on webhook_failures (at);
