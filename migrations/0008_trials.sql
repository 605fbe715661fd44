-- Trials, which numbers of sales leave out.
alter table plans add column trial boolean not null default false;
