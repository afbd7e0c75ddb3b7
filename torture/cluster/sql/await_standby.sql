-- From now on every commit waits for the standby. A copy of the data has this, too.
alter system set synchronous_standby_names = '*';
