-- The whole schema, in words that SQLite and PostgreSQL share.
--
-- A world is one mode of one tenant. Everything a tenant owns lies in one world, and a foreign key
-- carries the world along, so that no row can refer to one of another world. Ids are unique by
-- themselves and grow with time: their order is the order of creation.
--
-- Texts that are compared or searched are compared byte by byte (`collate binary`, for which licd
-- says "C" to PostgreSQL). Times are milliseconds since 1970 on SQLite, where the type's name gives a number as a number.
--
-- Each look-up has one index that begins with its most telling column, so that PostgreSQL finds the
-- same plan for a table that was never analyzed as for one that was. An index that could be taken for
-- a look-up and serves lists alone is partial: only a list says `world > 0`.

-- The customers of the service, twice each: their live mode and their test mode.
create table worlds (
    id integer not null primary key check (id > 0),
    tenant_id uuid not null,
    tenant_name text not null,
    mode text not null check (mode in ('live', 'test')),
    created_at timestamptz not null,
    unique (tenant_id, mode),
    unique (tenant_name, mode)
);

-- The keys with which callers prove who they are. Only a hash is kept, and a caller's key is found
-- by it, before the world is known.
create table keys (
    id uuid not null primary key,
    world integer not null references worlds (id),
    name text not null,
    prefix text not null,
    role text not null check (role in ('validate', 'read', 'admin')),
    created_at timestamptz not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    -- Where that use came from.
    last_used_address text,
    revoked_at timestamptz,
    hash bytea not null unique
);

create index keys_by_world on keys (world, id) where world > 0;

-- The sessions in the dashboard. Only a hash of the cookie is kept, and it is looked up together with
-- the key that opened the session: a session lasts no longer than its key.
create table sessions (
    id uuid not null primary key,
    -- That of the key.
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

-- How many requests of an hour each key made. Counted in memory and added some seconds later. Kept
-- for 30 days.
create table key_uses (
    key_id uuid not null references keys (id),
    -- Its start.
    hour timestamptz not null,
    count bigint not null,
    primary key (key_id, hour)
);

create index key_uses_by_age on key_uses (hour);

-- What a tenant sells.
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

-- The terms on which a product is sold: what its licenses start with.
create table plans (
    id uuid not null,
    world integer not null,
    product_id uuid not null,
    name text not null,
    description text,
    max_seats integer check (max_seats between 1 and 1000000),
    expires_in_days integer check (expires_in_days between 1 and 36500),
    features jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (id, world),
    foreign key (product_id, world) references products (id, world)
);

create index plans_by_world on plans (world, id) where world > 0;
create index plans_by_product on plans (product_id, world, id) where world > 0;

-- Licenses. They copy their plan's terms, so that a later change of the plan leaves them alone.
-- seats_used counts the assignments that hold a seat; it lies here so that whoever takes or frees a
-- seat locks this one row, and never more seats are given than max_seats.
create table licenses (
    id uuid not null,
    world integer not null,
    product_id uuid not null,
    plan_id uuid not null,
    status text not null check (status in ('active', 'suspended', 'revoked', 'expired')),
    max_seats integer check (max_seats between 1 and 1000000),
    seats_used integer not null default 0 check (seats_used >= 0),
    expires_at timestamptz,
    features jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- The end of the id as people read it, for whom it is short enough to type; see store/licenses.
    suffix integer not null,
    -- Computed by the database. An index on seats_used itself would have to change with every seat.
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

-- The users of a tenant's application, by the identifier the tenant gives them. Metadata is json
-- and not jsonb, which would sort its members and write its numbers anew.
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
-- The search for users, by how a text begins.
create index users_by_start on users (world, external_id) where world > 0;
create index users_by_email on users (world, lower(email)) where email is not null and world > 0;
create index users_by_name on users (world, lower(name)) where name is not null and world > 0;

-- Which user may use which license, and the seat that the user holds on it, if any. The order of a
-- user's assignments is the order of their ids, and it decides which license a validation selects.
create table assignments (
    user_id uuid not null,
    license_id uuid not null,
    world integer not null,
    id uuid not null,
    metadata json,
    assigned_at timestamptz not null,
    activation_id uuid,
    activated_at timestamptz,
    last_checked_at timestamptz,
    primary key (user_id, license_id, world),
    check ((activation_id is null) = (activated_at is null)),
    check ((activation_id is null) = (last_checked_at is null)),
    foreign key (user_id, world) references users (id, world),
    foreign key (license_id, world) references licenses (id, world)
);

create index assignments_by_license on assignments (license_id, world, activation_id, id)
    where world > 0;

-- The sequence of each world's last event. A table of its own: it changes with every change, and
-- every validation reads the worlds.
create table event_counters (
    world integer not null primary key references worlds (id),
    last bigint not null
);

-- What happened in a world, in the order of commit and without gaps: the sequence comes from the
-- counter, which is moved by the last statements before the commit.
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
    -- The tenant's identifier of the user whom the event is about.
    external_id text collate binary,
    related json not null,
    object json not null,
    previous json,
    request_id text,
    primary key (world, sequence)
);

create index events_by_subject on events (subject_id, world, sequence);
create index events_by_user on events (external_id, world, sequence)
    where external_id is not null;
create index events_by_type on events (world, event_type, sequence) where world > 0;
-- Ids grow with time: the oldest events are pruned by it, and the newest is found.
create index events_by_id on events (id);

-- What was answered to a request that carried an Idempotency-Key, written in one transaction with
-- what the request did: a request that is sent again gets the same answer and has no second effect.
-- Kept for a day. No answer that showed a secret is kept.
create table idempotency_keys (
    name text not null,
    world integer not null references worlds (id),
    fingerprint bytea not null,
    status integer not null,
    body text,
    created_at timestamptz not null,
    primary key (name, world)
);

create index idempotency_keys_by_age on idempotency_keys (created_at);

-- How many validations of an hour had which outcome: valid, or the reason of a refusal. Counted in
-- memory and added some seconds later. Kept for 30 days.
create table outcomes (
    world integer not null references worlds (id),
    -- Its start.
    hour timestamptz not null,
    outcome text not null,
    count bigint not null,
    primary key (world, hour, outcome)
);

create index outcomes_by_age on outcomes (hour) where world > 0;

-- The users whose validations were refused in an hour, and why. It names the user as the tenant
-- does, so that a deleted user's refusals can still be explained. Written and kept as outcomes are.
create table refusals (
    external_id text collate binary not null,
    world integer not null references worlds (id),
    -- Its start.
    hour timestamptz not null,
    reason text not null,
    id uuid not null,
    -- Of the last refusal.
    license_id uuid,
    count bigint not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (external_id, world, hour, reason)
);

create index refusals_by_world on refusals (world, id) where world > 0;
create index refusals_by_age on refusals (hour) where world > 0;

-- Made last: on tables that were analyzed while they were empty all indexes seem to cost the same,
-- and PostgreSQL then takes the newest one.
create unique index users_by_external_id on users (external_id, world);
