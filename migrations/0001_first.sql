-- The first schema, in the SQL that SQLite and PostgreSQL share.
--
-- A world is one mode (live or test) of one tenant. Every row that a tenant owns carries the number of
-- its world, and every foreign key includes it, so no row can refer to a row of another world. Ids are
-- unique on their own and grow with time, so their order is the order of creation.
--
-- Text that is compared or searched is compared byte by byte: `collate binary`, which licd replaces by
-- "C" for PostgreSQL. On SQLite, times are milliseconds since 1970.
--
-- A look-up has one index that begins with its most selective column, so PostgreSQL chooses the same
-- plan for a table that was never analyzed. An index that serves only lists is partial, because
-- otherwise PostgreSQL could choose it for a look-up: only lists say `world > 0`.

-- The modes of each tenant.
create table worlds (
    id integer not null primary key check (id > 0),
    tenant_id uuid not null,
    tenant_name text not null,
    mode text not null check (mode in ('live', 'test')),
    created_at timestamptz not null,
    unique (tenant_id, mode),
    unique (tenant_name, mode)
);

-- API keys. Only a hash is stored. A request's key is found by its hash, before its world is known.
create table keys (
    id uuid not null primary key,
    world integer not null references worlds (id),
    name text not null,
    prefix text not null,
    -- `support` is for a role that follows: SQLite cannot change a check without rebuilding the table.
    role text not null check (role in ('validate', 'read', 'admin', 'support')),
    created_at timestamptz not null,
    expires_at timestamptz,
    -- The expiry that the key was created with. Rolling a key brings only `expires_at` forward.
    original_expires_at timestamptz,
    last_used_at timestamptz,
    -- The address of the latest use.
    last_used_address text,
    revoked_at timestamptz,
    hash bytea not null unique
);

create index keys_by_world on keys (world, id) where world > 0;

-- Sessions of the dashboard. Only a hash of the cookie is stored. A session is read together with its
-- key, so it ends when the key does.
create table sessions (
    id uuid not null primary key,
    -- The world of the key.
    world integer not null references worlds (id),
    key_id uuid not null references keys (id),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    address text,
    browser text,
    hash bytea not null unique
);

create index sessions_by_key on sessions (key_id, id);
create index sessions_by_world on sessions (world, id) where world > 0;
create index sessions_by_expiry on sessions (expires_at);

-- Number of requests per key and hour, written some seconds late and kept for 30 days.
create table key_uses (
    key_id uuid not null references keys (id),
    -- The start of the hour.
    hour timestamptz not null,
    count bigint not null,
    primary key (key_id, hour)
);

create index key_uses_by_age on key_uses (hour);

-- The products of a tenant.
create table products (
    id uuid not null,
    world integer not null references worlds (id),
    name text not null,
    description text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (id, world)
);

create index products_by_world on products (world, id) where world > 0;

-- The terms on which a product is sold. A license copies them when it is created.
create table plans (
    id uuid not null,
    world integer not null,
    product_id uuid not null,
    name text not null,
    description text,
    max_seats integer check (max_seats between 1 and 1000000),
    expires_in_days integer check (expires_in_days between 1 and 36500),
    features jsonb not null,
    -- Another user may take over a seat that was not validated for this long. Null: not floating.
    seat_idle_minutes integer,
    -- Licenses stay valid for this long after their end. Null: no grace.
    grace_days integer,
    -- Whether the days count from the creation (null) or from the first validation.
    expires_from text,
    -- Maximum length of a lease. Null: no leases.
    max_lease_seconds integer,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (id, world),
    foreign key (product_id, world) references products (id, world)
);

create index plans_by_world on plans (world, id) where world > 0;
create index plans_by_product on plans (product_id, world, id) where world > 0;

-- Licenses. They copy the terms of their plan, so a change of the plan does not affect them.
create table licenses (
    id uuid not null,
    world integer not null,
    product_id uuid not null,
    plan_id uuid not null,
    -- A customer or an order. Neither the name nor the metadata affects decisions.
    name text collate binary,
    metadata json,
    status text not null check (status in ('active', 'suspended', 'revoked', 'expired')),
    max_seats integer check (max_seats between 1 and 1000000),
    -- Number of assignments that hold a seat. Every change of a seat locks this row, so there are
    -- never more seats than `max_seats`.
    seats_used integer not null default 0 check (seats_used >= 0),
    expires_at timestamptz,
    features jsonb not null,
    seat_idle_minutes integer,
    grace_days integer,
    -- The license ends this many days after its first validation. Null: the end is set or there is none.
    pending_days integer,
    -- The end of the grace period.
    grace_ends_at timestamptz,
    -- No seat becomes idle before this time. Null: not known.
    seats_idle_at timestamptz,
    max_lease_seconds integer,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- The last characters of the id as a number, for people who type only these; see store/licenses.
    suffix integer not null,
    -- A generated column, because an index on `seats_used` would change with every seat.
    is_full boolean not null
        generated always as (max_seats is not null and seats_used >= max_seats) stored,
    primary key (id, world),
    foreign key (product_id, world) references products (id, world),
    foreign key (plan_id, world) references plans (id, world)
);

create index licenses_by_world on licenses (world, id) where world > 0;
create index licenses_by_plan on licenses (plan_id, world, id) where world > 0;
create index licenses_by_product on licenses (product_id, world, id) where world > 0;
create index licenses_by_status on licenses (status, world, id) where world > 0;
create index licenses_by_expiry on licenses (world, expires_at, id) where world > 0;
create index licenses_by_suffix on licenses (suffix, world) where world > 0;
create index full_licenses_by_status on licenses (status, world, id) where is_full and world > 0;
-- The next licenses that end, and whose grace ends, in all worlds.
create index licenses_by_end on licenses (expires_at, id) where status = 'active';
create index licenses_by_grace_end on licenses (grace_ends_at, id)
    where status = 'active' and grace_ends_at is not null;

-- The name of a license from each of its words on, folded as in store/phrases. A search finds a
-- license by how one of these begins.
create table license_phrases (
    license_id uuid not null,
    world integer not null,
    phrase text collate binary not null,
    primary key (license_id, world, phrase),
    foreign key (license_id, world) references licenses (id, world)
);

create index license_phrases_by_start on license_phrases (world, phrase, license_id)
    where world > 0;

-- License keys, with which users claim a license. Only a hash is stored, and the last characters for
-- support.
create table license_keys (
    id uuid not null,
    world integer not null,
    license_id uuid not null,
    suffix text collate binary not null,
    hash bytea not null,
    -- Maximum number of users who claimed with the key. Null: the seats of the license.
    max_uses integer check (max_uses between 1 and 1000000),
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    -- The key that replaces this one. A reissued key leaves its old hash in a row of its own, so that
    -- a user who types the old text is told.
    reissued_as uuid,
    primary key (id, world),
    foreign key (license_id, world) references licenses (id, world)
);

create unique index license_keys_by_hash on license_keys (hash, world);
create index license_keys_by_license on license_keys (license_id, world, id) where world > 0;
create index license_keys_by_suffix on license_keys (world, suffix, id) where world > 0;

-- The users of a tenant's application, with the identifier that the tenant gives them. Metadata is
-- `json`, because `jsonb` would sort its members and rewrite its numbers.
create table users (
    id uuid not null,
    world integer not null references worlds (id),
    external_id text collate binary not null,
    email text collate binary,
    name text collate binary,
    metadata json,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (id, world)
);

create index users_by_world on users (world, id) where world > 0;
-- Created after the other index: on tables that were analyzed while they were empty, all indexes seem
-- to cost the same, and PostgreSQL then chooses the newest.
create unique index users_by_external_id on users (external_id, world);

-- The names of a user from each of their words on, as `license_phrases`.
create table user_phrases (
    user_id uuid not null,
    world integer not null,
    phrase text collate binary not null,
    primary key (user_id, world, phrase),
    foreign key (user_id, world) references users (id, world) on delete cascade
) without rowid;

create index user_phrases_by_start on user_phrases (world, phrase, user_id) where world > 0;

-- The licenses that a user may use, and the seat that the user holds on each, if any. A validation
-- considers them by `place`, then in the order of their ids.
create table assignments (
    user_id uuid not null,
    license_id uuid not null,
    world integer not null,
    id uuid not null,
    metadata json,
    assigned_at timestamptz not null,
    -- Claimed licenses have places below 0.
    place integer not null default 0,
    -- The license key that made the assignment. Null: an administrator made it.
    claimed_with uuid,
    activation_id uuid,
    activated_at timestamptz,
    last_checked_at timestamptz,
    -- The end of the last lease on the seat plus five minutes for clocks. The seat cannot be freed
    -- before. Meaningless without a seat.
    leased_until timestamptz,
    -- The device that the lease was issued for.
    leased_device text,
    primary key (user_id, license_id, world),
    check ((activation_id is null) = (activated_at is null)),
    check ((activation_id is null) = (last_checked_at is null)),
    foreign key (user_id, world) references users (id, world),
    foreign key (license_id, world) references licenses (id, world)
);

create index assignments_by_license on assignments (license_id, world, activation_id, id)
    where world > 0;
create index assignments_by_age on assignments (license_id, world, id) where world > 0;
create index assignments_by_claim on assignments (claimed_with, world, id)
    where claimed_with is not null;

-- The sequence of the last event of each world. It is a table of its own, because it changes with
-- every change, and every validation reads `worlds`.
create table event_counters (
    world integer not null primary key references worlds (id),
    last bigint not null
);

-- Changes in a world, in the order of commit and without gaps: the last statements before a commit
-- advance the counter and insert the events. Kept for 400 days.
create table events (
    world integer not null references worlds (id),
    sequence bigint not null,
    id uuid not null,
    event_type text not null,
    time timestamptz not null,
    actor_type text not null check (actor_type in ('key', 'session', 'host', 'system')),
    actor_key uuid,
    actor_session uuid,
    actor_name text,
    subject_type text not null,
    subject_id text not null,
    -- The tenant's identifier of the user whom the event concerns.
    external_id text collate binary,
    related json not null,
    object json not null,
    previous json,
    -- Why a seat was freed.
    reason text,
    request_id text,
    primary key (world, sequence)
);

create index events_by_subject on events (subject_id, world, sequence);
create index events_by_user on events (external_id, world, sequence)
    where external_id is not null;
create index events_by_type on events (world, event_type, sequence) where world > 0;
-- Finds the oldest events, which are deleted, and the newest.
create index events_by_id on events (id);

-- Responses to requests with an Idempotency-Key, written in the transaction of the request's effect.
-- Kept for a week. A response that shows a secret is not stored.
create table idempotency_keys (
    name text not null,
    world integer not null references worlds (id),
    fingerprint bytea not null,
    status integer not null,
    body text,
    etag text,
    created_at timestamptz not null,
    primary key (name, world)
);

create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Number of validations per hour and outcome (valid, or the reason of a refusal), written some seconds
-- late and kept for 30 days.
create table outcomes (
    world integer not null references worlds (id),
    -- The start of the hour.
    hour timestamptz not null,
    outcome text not null,
    count bigint not null,
    primary key (world, hour, outcome)
);

create index outcomes_by_age on outcomes (hour) where world > 0;

-- Refused users per hour and reason, written and kept as outcomes are. A row has the tenant's
-- identifier of the user, so the refusals of a deleted user can still be explained.
create table refusals (
    external_id text collate binary not null,
    world integer not null references worlds (id),
    -- The start of the hour.
    hour timestamptz not null,
    reason text not null,
    id uuid not null,
    -- The license of the latest refusal.
    license_id uuid,
    count bigint not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (external_id, world, hour, reason)
);

create index refusals_by_world on refusals (world, id) where world > 0;
create index refusals_by_age on refusals (hour) where world > 0;

-- One row: when licd was last known to respond. After a gap of more than 90 seconds also when it was
-- back, and how long it had been away.
create table uptime (
    one integer primary key check (one = 1),
    seen_at timestamptz not null,
    resumed_at timestamptz,
    away_seconds bigint
);

-- How far the events about the ends of licenses have come. Each kind has been recorded for all licenses
-- whose time is before `reached_at`, and at that time for the ids up to `license_id`.
create table notices (
    kind text not null primary key,
    reached_at timestamptz not null,
    license_id uuid not null
);

-- Webhooks. Each reads the events of its world: up to `sequence` an event was delivered, was given up,
-- or waits in a hold.
create table webhooks (
    id uuid not null,
    world integer not null references worlds (id),
    url text not null,
    description text,
    -- The types to send, such as seat.taken and license.*. Null: all.
    event_types json,
    -- Sealed. The first has no end, each other signs until the end of its overlap.
    secrets json not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- The sending node writes the columns from here on.
    sequence bigint not null,
    -- Start and number of the failures in a row, and the next attempt.
    failing_since timestamptz,
    attempts integer not null,
    next_attempt_at timestamptz,
    last_success_at timestamptz,
    last_status integer,
    disabled_at timestamptz,
    disabled_reason text,
    -- A random number of the node that sends, and the end of its claim by the database's clock.
    claim bigint,
    claimed_until timestamptz,
    primary key (id, world)
);

create index webhooks_by_world on webhooks (world, id) where world > 0;

-- A subject whose next event the receiver refused. It has a cursor of its own, at the event to retry,
-- so that other subjects continue.
create table webhook_holds (
    webhook_id uuid not null,
    world integer not null,
    subject_id text not null,
    sequence bigint not null,
    attempts integer not null,
    refusals integer not null,
    -- The first refusal of this event.
    since timestamptz not null,
    next_attempt_at timestamptz not null,
    primary key (webhook_id, subject_id, world),
    foreign key (webhook_id, world) references webhooks (id, world)
);

-- Failed delivery attempts, for support. An event that was given up has one row.
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

-- Keys that sign leases. A world has none, or an active and a standby key, and retired ones.
create table signing_keys (
    id uuid not null,
    world integer not null references worlds (id),
    state text not null check (state in ('standby', 'active', 'retired')),
    -- Not sealed, so that it outlives a lost secret key: a point of P-256 in the 65 octets of X9.62.
    public_key bytea not null,
    -- Sealed. Null once the key is retired.
    private_key bytea,
    created_at timestamptz not null,
    retired_at timestamptz,
    primary key (id, world)
);

create unique index signing_keys_by_state on signing_keys (world, state) where state <> 'retired';
create index signing_keys_by_world on signing_keys (world, id) where world > 0;
