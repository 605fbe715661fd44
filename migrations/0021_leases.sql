-- The last lease on a seat. leased_until: the seat is not given away before; it is the end of the
-- lease and five minutes for clocks, and means nothing while no seat is held. leased_device: the
-- machine that the lease was asked for.
alter table assignments add column leased_until timestamptz;

alter table assignments add column leased_device text;
