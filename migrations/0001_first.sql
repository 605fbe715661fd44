-- The whole schema, in words that SQLite and PostgreSQL share.
--
-- Everything a tenant owns lies in one of its two modes, and its key begins with both. A foreign
-- key therefore cannot cross from one tenant or mode into another, and a list is one range of its
-- primary key: ids grow with time, so their order is the order of creation.

-- The customers of the service.
create table tenants (
    id uuid not null primary key,
    name text not null unique,
    created_at timestamptz not null
);

-- The keys with which callers prove who they are. Only a hash is kept, and it is what a caller's
-- key is found by, before the tenant is known.
create table keys (
    id uuid not null primary key,
    tenant_id uuid not null references tenants (id),
    mode text not null check (mode in ('live', 'test')),
    name text not null,
    prefix text not null,
    hash bytea not null unique,
    role text not null check (role in ('validate', 'read', 'admin')),
    created_at timestamptz not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);

create index keys_by_tenant on keys (tenant_id, id);

-- What a tenant sells.
create table products (
    tenant_id uuid not null references tenants (id),
    mode text not null check (mode in ('live', 'test')),
    id uuid not null,
    name text not null,
    description text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (tenant_id, mode, id)
);

-- The terms on which a product is sold: what its licenses start with.
create table plans (
    tenant_id uuid not null,
    mode text not null,
    id uuid not null,
    product_id uuid not null,
    name text not null,
    description text,
    max_seats integer check (max_seats between 1 and 1000000),
    expires_in_days integer check (expires_in_days between 1 and 36500),
    features jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (tenant_id, mode, id),
    foreign key (tenant_id, mode, product_id) references products (tenant_id, mode, id)
);

create index plans_by_product on plans (tenant_id, mode, product_id, id);

-- Licenses. They copy their plan's terms, so that a later change of the plan leaves them alone.
-- seats_used counts the license's activations; it lives here so that whoever takes or frees a seat
-- locks this one row, and never more seats are given than max_seats.
create table licenses (
    tenant_id uuid not null,
    mode text not null,
    id uuid not null,
    product_id uuid not null,
    plan_id uuid not null,
    status text not null check (status in ('active', 'suspended', 'revoked', 'expired')),
    max_seats integer check (max_seats between 1 and 1000000),
    seats_used integer not null default 0 check (seats_used >= 0),
    expires_at timestamptz,
    features jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (tenant_id, mode, id),
    foreign key (tenant_id, mode, product_id) references products (tenant_id, mode, id),
    foreign key (tenant_id, mode, plan_id) references plans (tenant_id, mode, id)
);

create index licenses_by_plan on licenses (tenant_id, mode, plan_id, id);

-- The users of a tenant's application, by the name the tenant gives them. Metadata is json and not
-- jsonb, which would sort its members and write its numbers anew.
create table users (
    tenant_id uuid not null references tenants (id),
    mode text not null check (mode in ('live', 'test')),
    id uuid not null,
    external_id text not null,
    email text,
    name text,
    metadata json,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (tenant_id, mode, id),
    unique (tenant_id, mode, external_id)
);

-- Which user may use which license. The order of a user's assignments is the order of their ids,
-- and it decides which license a validation selects.
create table assignments (
    tenant_id uuid not null,
    mode text not null,
    user_id uuid not null,
    license_id uuid not null,
    id uuid not null,
    metadata json,
    assigned_at timestamptz not null,
    primary key (tenant_id, mode, user_id, license_id),
    foreign key (tenant_id, mode, user_id) references users (tenant_id, mode, id),
    foreign key (tenant_id, mode, license_id) references licenses (tenant_id, mode, id)
);

create index assignments_by_license on assignments (tenant_id, mode, license_id);

-- Seats held: a user's use of a license. There is none without an assignment.
create table activations (
    tenant_id uuid not null,
    mode text not null,
    user_id uuid not null,
    license_id uuid not null,
    id uuid not null,
    activated_at timestamptz not null,
    last_checked_at timestamptz not null,
    primary key (tenant_id, mode, user_id, license_id),
    foreign key (tenant_id, mode, user_id, license_id)
        references assignments (tenant_id, mode, user_id, license_id)
);

create index activations_by_license on activations (tenant_id, mode, license_id, id);

-- What was answered to a request that carried an Idempotency-Key, written in one transaction with
-- what the request did: who sends it again is told the same, and it is not done again. Kept for a
-- day. No answer that showed a secret is kept.
create table idempotency_keys (
    tenant_id uuid not null references tenants (id),
    mode text not null check (mode in ('live', 'test')),
    name text not null,
    fingerprint bytea not null,
    status integer not null,
    body text,
    created_at timestamptz not null,
    primary key (tenant_id, mode, name)
);

create index idempotency_keys_by_age on idempotency_keys (created_at);

-- How many validations of an hour had which outcome: valid, or the reason of a refusal. Counted in
-- memory and added some seconds later. Kept for 30 days.
create table outcomes (
    world integer not null,
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
    external_id text not null,
    world integer not null,
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
