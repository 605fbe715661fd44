-- Why a seat was freed.
alter table events add column reason text;
